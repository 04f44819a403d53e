/** What only the real process shows: exit codes, streams that close, signals, and how the program is found by kubectl. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const bin = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

function storage(...argv: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [bin, ...argv], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function ended(child: ChildProcess): Promise<{ code: number | null; signal: string | null; stderr: string }> {
  let stderr = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, stderr })))
}

describe('the program', () => {
  it('prints its version, and only that', () => {
    expect(storage('--version')).toMatchObject({ status: 0, stdout: `kubectl-storage/${version}\n`, stderr: '' })
  })

  it('prints help when nothing is asked', () => {
    const { status, stdout, stderr } = storage()
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('drain-check')
  })

  it('shows a real example in the help of a command', () => {
    const { status, stdout } = storage('drain-check', '--help')
    expect(status).toBe(0)
    expect(stdout).toContain('$ kubectl storage drain-check k8s-node-2 --from demo')
  })

  it('is what kubectl finds as `kubectl storage`: a file of that name on PATH that can be run', () => {
    const folder = mkdtempSync(join(tmpdir(), 'kubectl-storage-'))
    try {
      chmodSync(bin, 0o755)
      symlinkSync(bin, join(folder, 'kubectl-storage'))
      const env = { ...process.env, PATH: [folder, process.env.PATH].join(delimiter) }
      expect(spawnSync('kubectl-storage', ['--version'], { env, encoding: 'utf8' })).toMatchObject({ status: 0 })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

describe('the way it ends', () => {
  it.each<[string, string[], number]>([
    ['unknown command', ['drian-check'], 2],
    ['unknown flag', ['drain-check', '--form', 'demo'], 2],
    ['missing value', ['drain-check', '--from'], 2],
    ['no node', ['drain-check', '--from', 'demo'], 2],
    ['unknown word to accept', ['drain-check', 'k8s-node-2', '--accept', 'stuk', '--from', 'demo'], 2],
  ])('%s: the same code in every form, told on the right stream', (_, argv, code) => {
    const plain = storage(...argv)
    expect(plain).toMatchObject({ status: code, stdout: '' })
    expect(plain.stderr).toMatch(/^Error: /)
    const json = storage('-o', 'json', ...argv)
    expect(json).toMatchObject({ status: code, stderr: '' })
    expect(JSON.parse(json.stdout)).toMatchObject({ apiVersion: 'kubectl-storage/v1', kind: 'Error', code })
  })

  it.each<[string, string[], number]>([
    ['not safe', ['k8s-node-2'], 3],
    ['safe in what was asked', ['k8s-node-2', '--pod-selector', 'app=node-agent'], 0],
    [
      'all that is wrong accepted',
      ['k8s-node-2', '--accept', 'stuck,blocked,gone', '--accept=data-lost,starts-empty'],
      0,
    ],
    ['an unknown node', ['k8s-node-3'], 2],
    ['an unknown pod', ['--pod', 'demo/cache'], 2],
    ['labels that no node has', ['-l', 'a=b'], 2],
    ['a selector that does not parse', ['-l', 'a in ('], 2],
    ['nodes by name and by label', ['k8s-node-2', '-l', 'a=b'], 2],
    ['a file that is not there', ['k8s-node-2', '--from', 'no-such-file'], 2],
  ])('of drain-check: %s', (_, argv, code) => {
    for (const form of ['table', 'json', 'name']) {
      const { status, stdout } = storage('drain-check', '--from', 'demo', ...argv, '-o', form)
      expect({ form, status }).toEqual({ form, status: code })
      if (form === 'json')
        expect(JSON.parse(stdout)).toMatchObject(code === 2 ? { kind: 'Error', code } : { complete: true })
    }
  })

  it('of drain-check: nothing can be judged without nodes', () => {
    const empty = '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"demo"}}'
    const options = { input: empty, encoding: 'utf8' } as const
    const { status, stdout } = spawnSync(process.execPath, [bin, 'drain-check', 'n', '--from', '-', '-ojson'], options)
    expect(status).toBe(7)
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'DrainReport', complete: false })
  })

  it('names the node that was meant', () => {
    const { stderr } = storage('drain-check', 'k8s-node-3', '--from', 'demo')
    expect(stderr).toBe(
      'Error: node k8s-node-3 does not exist\n  did you mean k8s-node-1?\n  did you mean k8s-node-2?\n',
    )
  })

  it('is 130 when it is interrupted, in the form that was asked for', async () => {
    const child = spawn(process.execPath, [bin, 'drain-check', 'n', '--from', '-', '-o', 'json'])
    let stdout = ''
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString()
    })
    // Some input and no end of it: when the pipe has taken all, the program is there and reads.
    child.stdin.on('error', () => {})
    await new Promise<void>((resolve) => child.stdin.write(' '.repeat(1 << 20), () => resolve()))
    child.kill('SIGINT')
    expect(await ended(child)).toMatchObject({ code: 130, signal: null })
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'Error', code: 130, message: 'cancelled' })
  })

  it('is the same when nobody reads what it says', async () => {
    const argv = [bin, 'drain-check', 'no-such-node', '--from', 'demo']
    const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    child.stderr.destroy()
    expect(await ended(child)).toMatchObject({ code: 2, signal: null })
  })

  it.skipIf(!existsSync('/dev/full'))('ends when there is no room for what it says', () => {
    const full = openSync('/dev/full', 'w')
    const run = (node: string, stdout: number | 'pipe', stderr: number | 'pipe') =>
      spawnSync(process.execPath, [bin, 'drain-check', node, '--from', 'demo'], {
        stdio: ['ignore', stdout, stderr],
        encoding: 'utf8',
        timeout: 30_000,
      })
    // What stderr does not take can't be told anywhere.
    expect(run('no-such-node', 'pipe', full)).toMatchObject({ status: 2, signal: null })
    const { status, stderr } = run('k8s-node-2', full, 'pipe')
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^Error: the result could not be written: ENOSPC/)])
  })

  // What a terminal changes (colours, width, oclif's own start) no pipe shows. script(1) is in util-linux.
  it.skipIf(spawnSync('script', ['--version']).status !== 0)('is the same on a terminal', () => {
    const onTerminal = (...argv: string[]) => {
      const command = [process.execPath, bin, ...argv].map((word) => `'${word}'`).join(' ')
      const env = { ...process.env, TERM: 'xterm-256color', CI: undefined, NO_COLOR: undefined, FORCE_COLOR: undefined }
      const { status, stdout } = spawnSync('script', ['-qec', command, '/dev/null'], { env, encoding: 'utf8' })
      return { status, stdout }
    }
    const result = onTerminal('drain-check', 'k8s-node-2', '--from', 'demo')
    expect(result).toEqual({ status: 3, stdout: expect.stringContaining('1 pod stays Pending') })
    // On a terminal it is coloured.
    expect(result.stdout).toContain('\u001b[')
    expect(onTerminal('drain-check', '--help')).toEqual({ status: 0, stdout: expect.stringContaining('USAGE') })
    expect(onTerminal('drain-check', 'nope', '--from', 'demo')).toEqual({
      status: 2,
      stdout: expect.stringMatching(/^Error: node nope does not exist/),
    })
  })

  it('is quiet when the reader of its output is gone', async () => {
    const child = spawn(process.execPath, [bin, 'drain-check', '--help'], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    expect(await ended(child)).toEqual({ code: 0, signal: null, stderr: '' })
  })
})
