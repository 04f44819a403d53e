/**
 * A mount namespace of its own, with everything in it shared among itself as on a machine that systemd has started, and FUSE servers in
 * it. The server is a few lines of perl that speak the kernel's protocol (include/uapi/linux/fuse.h), so that a thousand of them can be
 * started, and that each can say whether somebody unmounted it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Arguments: where to mount, the source, the subtype, options. Writes `mounted`, and `unmounted` when it is let go. */
const SERVER = `use strict; use warnings; use Fcntl; $| = 1; $^F = 255;
my ($target, $source, $subtype, $options) = @ARGV;
sysopen(my $fuse, '/dev/fuse', O_RDWR) or die "fuse: $!";
my $fd = fileno $fuse;
my @mount = ('mount', '-i', '-c', '-t', "fuse.$subtype", '-o', "fd=$fd,rootmode=40000,$options", $source, $target);
if (my $child = fork) {
  serve(1);   # FUSE_INIT comes during mount(2)
  waitpid $child, 0;
  $? == 0 or do { print "failed\\n"; exit 2 };
  print "mounted\\n";
} else { exec @mount or exit 1 }
serve(0);
sub attr { my ($ino, $mode) = @_; pack 'Q6 L3 L7', $ino, 0, 0, 0, 0, 0, 0, 0, 0, $mode, 2, 0, 0, 0, 4096, 0 }
sub serve {
  my ($once) = @_;
  while (1) {
    my $got = sysread $fuse, my $request, 1 << 18;
    if (!defined $got) { next if $!{EINTR} || $!{EAGAIN}; print $!{ENODEV} ? "unmounted\\n" : "error $!\\n"; exit 3 }
    my ($length, $opcode, $unique, $node) = unpack 'L L Q Q', $request;
    my $name = $opcode == 1 ? unpack('x40 Z*', $request) : '';
    next if $opcode == 2 || $opcode == 42 || $opcode == 36;
    my ($error, $body) = (0, '');
    if ($opcode == 26) { $body = pack 'L4 S2 L2 S2 L8', 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, (0) x 8 }
    elsif ($opcode == 3) { $body = pack('Q L L', 0, 0, 0) . ($node == 1 ? attr(1, 040755) : attr(2, 0100644)) }
    elsif ($opcode == 17) { $body = pack 'Q5 L4 L6', 1, 1, 1, 1, 1, 4096, 255, 4096, 0, (0) x 6 }
    elsif ($opcode == 1) {
      if ($name eq 'file') { $body = pack('Q4 L2', 2, 0, 0, 0, 0, 0) . attr(2, 0100644) } else { $error = -2 }
    }
    elsif ($opcode == 14 || $opcode == 27) { $body = pack 'Q L2', 1, 0, 0 }
    elsif ($opcode == 15 || $opcode == 28 || $opcode == 18 || $opcode == 29 || $opcode == 25 || $opcode == 34) {}
    else { $error = -38 }
    syswrite $fuse, pack('L l Q', 16 + length $body, $error, $unique) . $body;
    return if $once && $opcode == 26;
  }
}
`

export interface Server {
  path: string
  pid: number
  /** Kills it, and resolves when the kernel has let go of it: the mount is dead then. */
  kill(): Promise<void>
  /** Stops it, so that it answers nothing. */
  stop(): void
  /** What it has written so far; `unmounted` is in it once its mount is gone. */
  said(): string
}

export interface Ran {
  code: number
  stdout: string
  stderr: string
}

export class Room {
  /** A folder for the mounts. */
  readonly folder = mkdtempSync(join(tmpdir(), 'unmount-'))
  readonly #keeper: ChildProcess
  readonly #servers: ChildProcess[] = []

  private constructor(keeper: ChildProcess) {
    this.#keeper = keeper
  }

  static async open(): Promise<Room> {
    const keeper = spawn(
      'unshare',
      ['-m', '--propagation', 'private', 'sh', '-c', 'mount --make-rshared / && echo ready && exec sleep infinity'],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    await said(keeper, 'ready')
    return new Room(keeper)
  }

  get pid(): number {
    return this.#keeper.pid ?? 0
  }

  get mountinfo(): string {
    return readFileSync(`/proc/${this.pid}/mountinfo`, 'utf8')
  }

  /** Runs a program in the room. */
  start(command: string[], stdio: 'pipe' | 'ignore' = 'pipe'): ChildProcess {
    return spawn('nsenter', ['-t', String(this.pid), '-m', '--', ...command], {
      stdio: [stdio, 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    })
  }

  /** A shell script, as a node would get it: on standard input. */
  async sh(script: string): Promise<Ran> {
    const child = this.start(['sh', '-s'])
    child.stdin?.end(script)
    return ended(child)
  }

  async serve(path: string, { source = 'tiny', subtype = 'tiny', options = 'user_id=0,group_id=0,allow_other' } = {}) {
    mkdirSync(path, { recursive: true })
    const child = this.start(['perl', '-e', SERVER, path, source, subtype, options], 'ignore')
    this.#servers.push(child)
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    await said(child, 'mounted')
    const server: Server = {
      path,
      pid: child.pid ?? 0,
      stop: () => child.kill('SIGSTOP'),
      said: () => text,
      kill: async () => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
        child.kill('SIGKILL')
        await gone
      },
    }
    return server
  }

  /** Everything that was started in it ends, and with the last process its mounts. */
  async close(): Promise<void> {
    for (const child of [...this.#servers, this.#keeper]) child.kill('SIGKILL')
    await Promise.all([...this.#servers, this.#keeper].map((child) => ended(child)))
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function ended(child: ChildProcess): Promise<Ran> {
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk))
  child.stdin?.on('error', () => {})
  return new Promise((resolve) => {
    const done = (code: number | null) =>
      resolve({ code: code ?? -1, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() })
    if (child.exitCode !== null || child.signalCode !== null) done(child.exitCode)
    else child.once('close', done)
  })
}

function said(child: ChildProcess, word: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (text.includes(word)) resolve()
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`ended with ${code} before it said ${word}: ${text}`)))
  })
}

/** Whether such mounts can be made here at all; false lets a test be skipped on a developer's machine. */
export function canMount(): boolean {
  try {
    readFileSync('/proc/self/mountinfo')
    return process.getuid?.() === 0 && readFileSync('/proc/filesystems', 'utf8').includes('\tfuse\n')
  } catch {
    return false
  }
}
