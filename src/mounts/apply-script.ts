/**
 * The scripts that run on a node: unmounting, watching pods go, looking into pods that came. POSIX sh, all names on standard input.
 *
 * A path says what is on top there now, a mount id says which mount is meant; umount(2) takes only a path. So a mount that comes to lie
 * on the path between the last look at the table and the call would be hit. Where perl is on the node the kernel closes that gap
 * itself: umount2(MNT_EXPIRE) only marks what is on the path, the table is read once more, and the second umount2(MNT_EXPIRE) takes
 * nothing but a mount that carries the mark and that nobody has used since (umount(2); fs/namespace.c, do_umount). A descriptor
 * (O_PATH) holds the mount while it is asked whether it lives, so that neither its id nor its device can pass to another.
 * Without perl, and with `-l`, which the kernel can't combine with the mark, the gap is there: from reading the table to the call,
 * a few milliseconds with umount(8), some microseconds with `-l` from perl. What went instead is seen afterwards and told.
 */
import { shellQuote } from '../node/shell-quote.js'
import type { UnmountStep } from './unmount-types.js'

/** Seconds that a mount has to say whether it lives. */
const PROBE_SECONDS = 5

/** As mountinfo writes names (fs/proc_namespace.c, seq_file.c mangle_path). */
export function escapeMountField(text: string, more = ''): string {
  const special = new Set([...' \t\n\\', ...more])
  return [...text]
    .map((char) => (special.has(char) ? `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}` : char))
    .join('')
}

/**
 * Arguments: what to do (check, expire, lazy), path, id, device, root, target, two ways to write type and source, uid, gid.
 * One word on standard output; exit code 9: it can't do it on this machine.
 */
const PERL = `use strict; use warnings; use Errno; use Fcntl; use POSIX ();
use Config;
my ($do, $path, $id, $dev, $root, $target, $type, $type2, $source, $source2, $uid, $gid) = @ARGV;
my $arch = $Config{archname};
my ($umount2, $fstatfs) = $Config{ptrsize} == 8 && $arch =~ /^x86_64/ ? (166, 138)
  : $Config{ptrsize} == 8 && $arch =~ /^(aarch64|riscv64|loongarch64)/ ? (39, 44)
  : $arch =~ /^(ppc64le|powerpc64le|s390x|i[3-6]86|arm)/ ? (52, 100) : exit 9;
my ($DETACH, $EXPIRE, $NOFOLLOW, $O_PATH) = (2, 4, 8, 010000000);
sub state {
  open(my $file, '<', '/proc/self/mountinfo') or return 'unread';
  my $text = '';
  while (sysread($file, $text, 1 << 20, length $text)) {}
  my (%parent, @on, @above, $there);
  for my $line (split /\\n/, $text) {
    my ($left, $right) = split / - /, $line, 2;
    my ($i, $p, $d, $r, $t) = split / /, $left;
    my ($y, $s) = split / /, $right;
    $s = '' unless defined $s;
    $parent{$i} = $p;
    if ($i == $id) {
      $there = $d eq $dev && $r eq $root && $t eq $target && ($y eq $type || $y eq $type2) && ($s eq $source || $s eq $source2);
    } elsif ($p == $id) { push @on, $t eq $target ? "covered $i" : "mounted-on $i" }
    elsif ($t eq $target || index("$target/", "$t/") == 0) { push @above, $i }
  }
  return 'gone' unless defined $there;
  return 'replaced' unless $there;
  return $on[0] if @on;
  my %chain;
  for (my $i = $id; defined $i && !$chain{$i}; $i = $parent{$i}) { $chain{$i} = 1 }
  for (@above) { return "covered $_" unless $chain{$_} }
  return 'planned';
}
sub finish { print "@_\\n"; exit 0 }
sub ask {
  my ($fd) = @_;
  my $child = fork;
  finish('unknown', 'fork') unless defined $child;
  if ($child == 0) {
    if ($uid) { $) = "$gid $gid"; POSIX::setgid($gid); POSIX::setuid($uid) }
    my $buffer = "\\0" x 512;
    POSIX::_exit(0) if syscall($fstatfs, $fd, $buffer) == 0;
    POSIX::_exit($!{ENOTCONN} ? 42 : $!{EACCES} ? 43 : 44);
  }
  for my $tick (1 .. ${PROBE_SECONDS * 200}) {
    if (waitpid($child, 1) == $child) {
      my $code = $? >> 8;
      return $code == 42 ? 'dead' : $code == 0 && !$? ? 'healthy' : $code == 43 ? 'unknown EACCES' : 'unknown';
    }
    select undef, undef, undef, 0.005;
  }
  kill 'KILL', $child;
  for (1 .. 100) { last if waitpid($child, 1) == $child; select undef, undef, undef, 0.01 }
  return 'hung';
}
my $busy = 0;
for my $try (1 .. 10) {
  select undef, undef, undef, 0.02 * $try if $try > 1;
  my $state = state();
  finish($state) if $state ne 'planned';
  sysopen(my $file, $path, $O_PATH | O_NOFOLLOW) or next;
  my $fd = fileno $file;
  open(my $info, '<', "/proc/self/fdinfo/$fd") or finish('unknown', 'fdinfo');
  my ($held) = join('', <$info>) =~ /^mnt_id:\\s*(\\d+)$/m;
  close $info;
  next unless defined $held && $held == $id && state() eq 'planned';
  my $life = ask($fd);
  finish($life) if $life ne 'dead' || $do eq 'check';
  if ($do eq 'lazy') {
    next if state() ne 'planned';
    finish('done') if syscall($umount2, $path, $DETACH | $NOFOLLOW) == 0;
    finish('error', $! + 0);
  }
  close $file;
  if (syscall($umount2, $path, $EXPIRE | $NOFOLLOW) == 0) { finish('done') }
  elsif ($!{EBUSY}) { $busy++; next }
  elsif (!$!{EAGAIN}) { next if $!{EINVAL} || $!{ENOENT}; finish('error', $! + 0) }
  next if state() ne 'planned';
  finish('done') if syscall($umount2, $path, $EXPIRE | $NOFOLLOW) == 0;
  $busy++ if $!{EBUSY};
}
finish($busy > 0 ? 'busy' : 'restless');
`

/** Functions of the shell that both ways need, and the way without perl. */
const SHELL = `LC_ALL=C; export LC_ALL
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin; export PATH
set -f
# The state of the planned mount: planned, gone, replaced, "covered ID", "mounted-on ID"; and who else is on its path.
look() {
  state=gone; at=' '; on=; above=; parents=' '
  table=$(cat /proc/self/mountinfo) || { state=unread; return; }
  IFS='
'
  for line in $table; do
    id=\${line%% *}; rest=\${line#* }; parent=\${rest%% *}; rest=\${rest#* }; dev=\${rest%% *}; rest=\${rest#* }
    root=\${rest%% *}; rest=\${rest#* }; target=\${rest%% *}
    parents="$parents$id:$parent "
    [ "$target" != "$TARGET" ] || at="$at$id "
    if [ "$id" = "$ID" ]; then
      state=replaced
      tail=\${line#* - }; type=\${tail%% *}; tail=\${tail#* }; source=\${tail%% *}
      if [ "$dev" = "$DEV" ] && [ "$root" = "$ROOT" ] && [ "$target" = "$TARGET" ]; then
        case $type in "$TYPE"|"$TYPE2") case $source in "$SOURCE"|"$SOURCE2") state=planned;; esac;; esac
      fi
    elif [ "$parent" = "$ID" ]; then
      if [ "$target" = "$TARGET" ]; then on="\${on:-covered $id}"; else on="\${on:-mounted-on $id}"; fi
    elif [ "$target" = "$TARGET" ]; then above="$above $id"
    else case $TARGET/ in "$target"/*) above="$above $id";; esac
    fi
  done
  unset IFS
  [ "$state" = planned ] || return 0
  [ -z "$on" ] || { state=$on; return 0; }
  chain=' '; i=$ID
  while :; do
    case $chain in *" $i "*) break;; esac
    chain="$chain$i "
    case $parents in *" $i:"*) i=\${parents#* $i:}; i=\${i%% *};; *) break;; esac
  done
  set +f; for i in $above; do case $chain in *" $i "*) ;; *) state="covered $i";; esac; done; set -f
}
# Whether the mount on the path lives: dead, healthy, hung, unknown.
ask() {
  as=
  if [ "$UID_" != 0 ]; then
    command -v setpriv >/dev/null 2>&1 || { echo 'unknown setpriv'; return; }
    as="setpriv --reuid=$UID_ --regid=$GID_ --clear-groups"
  fi
  said=$($as timeout -s KILL ${PROBE_SECONDS} stat -f "$P" 2>&1 >/dev/null); code=$?
  case $code in 0) echo healthy; return;; 124|137) echo hung; return;; esac
  # glibc and musl.
  case $said in
    *'Transport endpoint is not connected'*|*'Socket not connected'*) echo dead;;
    *'Permission denied'*) echo 'unknown EACCES';;
    *) echo unknown;;
  esac
}
act() { # check, expire or lazy
  if [ -n "$PERL_" ]; then
    verdict=$(perl -e "$PERL_" "$1" "$P" "$ID" "$DEV" "$ROOT" "$TARGET" "$TYPE" "$TYPE2" "$SOURCE" "$SOURCE2" "$UID_" "$GID_" 2>/dev/null)
    code=$?
    if [ $code = 0 ] && [ -n "$verdict" ]; then return; fi
    PERL_=
  fi
  look
  [ "$state" = planned ] || { verdict=$state; return; }
  verdict=$(ask)
  [ "$verdict" = dead ] && [ "$1" != check ] || return 0
  lazy=; [ "$1" = expire ] || lazy=-l
  look
  [ "$state" = planned ] || { verdict=$state; return; }
  before=$at
  said=$(umount $lazy $PLAIN "$P" 2>&1 >/dev/null); code=$?
  if [ $code = 0 ]; then verdict=done
  else case $said in *[Bb]usy*) verdict=busy;; *) verdict="error $(printf %s "$said" | tr -c '[:print:]' ' ' | cut -c1-200)";; esac
  fi
}
# umount(8) must neither canonicalise the path, which asks the dead server, nor call a helper for the type.
PLAIN=
case $(umount --help 2>&1) in *--no-canonicalize*) PLAIN='-i -c';; esac
mine=$(readlink /proc/self/ns/mnt)
pod_of() {
  sed -n 's/.*pod\\([0-9a-f]\\{8\\}[0-9a-f_-]\\{24,28\\}\\).*/\\1/p' "/proc/$1/cgroup" 2>/dev/null | head -n 1 | tr _ -
}
# Who has a working directory, root, open file or mapping there. Names only: the mount is not touched.
holders() {
  hex=$(printf '%02x:%02x' "\${DEV%%:*}" "\${DEV##*:}")
  set +f
  for dir in /proc/[0-9]*; do
    pid=\${dir#/proc/}
    [ "$pid" != $$ ] || continue
    ns=$(readlink "$dir/ns/mnt" 2>/dev/null) || continue
    if [ "$ns" = "$mine" ]; then wanted=$ID; else
      wanted=$(sed -n "s/^\\([0-9]*\\) [0-9]* $DEV .*/\\1/p" "$dir/mountinfo" 2>/dev/null | tr '\\n' '|'); wanted=\${wanted%|}
      [ -n "$wanted" ] || continue
    fi
    by=
    for what in cwd root; do
      link=$(readlink "$dir/$what" 2>/dev/null)
      case $link in "$P"|"$P"/*) by="$by,$what";; esac
    done
    ! grep -qsE "^mnt_id:[[:space:]]*($wanted)\\$" "$dir"/fdinfo/* || by="$by,file"
    ! timeout -s KILL 2 grep -qs " $hex " "$dir/maps" || by="$by,mapping"
    [ -n "$by" ] || continue
    # A process elsewhere has its own copy of the mount; it holds this one only if nobody here does.
    where=here; [ "$ns" = "$mine" ] || where=elsewhere
    name=$(tr -c '[:print:]' ' ' < "$dir/comm" 2>/dev/null | cut -c1-32)
    echo "H $1 $pid \${by#,} $where $(pod_of "$pid"|grep . || echo -) $name"
  done
  set -f
}
directory() {
  [ "$RMDIR" = 1 ] || { echo "D $1 kept"; return; }
  look
  [ "$at" = ' ' ] || { echo "D $1 kept"; return; }
  said=$(rmdir "$P" 2>&1); code=$?
  if [ $code = 0 ]; then echo "D $1 removed"
  else case $said in *'not empty'*) echo "D $1 not-empty";; *'No such file'*) echo "D $1 removed";; *) echo "D $1 failed";; esac
  fi
}
step() {
  look
  before=$at
  if [ "$ABORT" = 1 ] && [ "$state" = planned ]; then
    act check
    if [ "$verdict" = dead ]; then
      file=/sys/fs/fuse/connections/\${DEV#0:}/abort
      if [ "\${DEV%%:*}" != 0 ] || [ ! -e "$file" ]; then echo "C $1 none"
      elif echo 1 > "$file" 2>/dev/null; then echo "C $1 aborted"
      else echo "C $1 failed"
      fi
    fi
  fi
  if [ "$LAZY" = 1 ]; then act lazy; else act expire; fi
  case $verdict in
    done) ;;
    gone) echo "S $1 gone"; directory "$1"; return;;
    busy) echo "S $1 busy"; holders "$1"; return;;
    *) echo "S $1 $verdict"; return;;
  esac
  look
  lost=
  set +f; for i in $before; do
    [ "$i" = "$ID" ] || case $at in *" $i "*) ;; *) lost="$lost $i";; esac
  done; set -f
  if [ "$state" != gone ]; then echo "S $1 wrong still$lost"; return; fi
  if [ -n "$lost" ]; then echo "S $1 wrong also$lost"; return; fi
  echo "S $1 done"
  directory "$1"
}
PERL_=
if command -v perl >/dev/null 2>&1; then PERL_=$EXPIRE; fi
`

export interface ScriptOptions {
  lazy: boolean
  abort: boolean
  /** Only for tests of the way that nodes without perl go. */
  withoutPerl?: boolean
}

/** Lines of {@link parseUnmountOutput}; steps are named by their place in the list. */
export function unmountScript(steps: readonly UnmountStep[], { lazy, abort, withoutPerl }: ScriptOptions): string {
  const calls = steps.map((step, index) => {
    const values = {
      P: step.target,
      ID: String(step.mountId),
      DEV: step.device,
      ROOT: escapeMountField(step.root),
      TARGET: escapeMountField(step.target),
      TYPE: escapeMountField(step.fsType),
      TYPE2: escapeMountField(step.fsType, '#'),
      SOURCE: escapeMountField(step.source),
      SOURCE2: escapeMountField(step.source, '#'),
      UID_: String(step.probeAs.uid),
      GID_: String(step.probeAs.gid),
      RMDIR: step.removeDirectory ? '1' : '0',
      LAZY: lazy ? '1' : '0',
      ABORT: abort ? '1' : '0',
    }
    const set = Object.entries(values).map(([name, value]) => `${name}=${shellQuote(value)}`)
    return `${set.join(' ')}\nstep ${index}`
  })
  const perl = withoutPerl === true ? 'false' : `command -v perl`
  return [
    `EXPIRE=${shellQuote(PERL)}`,
    SHELL.replace('if command -v perl', () => `if ${perl}`),
    ...calls,
    `echo "E ${steps.length}"`,
    '',
  ].join('\n')
}

export type Verdict =
  | 'done'
  | 'gone'
  | 'busy'
  | 'replaced'
  | 'covered'
  | 'mounted-on'
  | 'healthy'
  | 'hung'
  | 'unknown'
  | 'restless'
  | 'unread'
  | 'wrong'
  | 'error'

export interface StepAnswer {
  verdict: Verdict
  /** The rest of its line: ids, errno, words of umount. */
  detail: string
  holders: { pid: number; by: string[]; here: boolean; podUid?: string; command: string }[]
  directory?: 'removed' | 'kept' | 'not-empty' | 'failed'
  connection?: 'aborted' | 'none' | 'failed'
}

const VERDICTS = new Set<string>([
  ...['done', 'gone', 'busy', 'replaced', 'covered', 'mounted-on', 'healthy', 'hung', 'unknown', 'restless', 'unread'],
  ...['wrong', 'error'],
])

/** What the script said of each step; null of a step that it did not get to, or when it is not what the script writes. */
export function parseUnmountOutput(output: string, count: number): (StepAnswer | null)[] {
  const answers: (StepAnswer | null)[] = Array.from({ length: count }, () => null)
  const extras: Pick<StepAnswer, 'holders' | 'directory' | 'connection'>[] = answers.map(() => ({ holders: [] }))
  for (const line of output.split('\n')) {
    const [tag, number, first = '', ...more] = line.split(' ')
    const index = Number(number)
    const extra = extras[index]
    if (extra === undefined || !/^\d+$/.test(number ?? '')) continue
    if (tag === 'S' && VERDICTS.has(first)) {
      answers[index] = { verdict: first as Verdict, detail: more.join(' '), ...extra }
    } else if (tag === 'H' && /^\d+$/.test(first)) {
      const [by = '', where, podUid = '-', ...command] = more
      extra.holders.push({
        pid: Number(first),
        by: by.split(','),
        here: where === 'here',
        ...(podUid === '-' ? {} : { podUid }),
        command: command.join(' ').trim(),
      })
    } else if (tag === 'D' && ['removed', 'kept', 'not-empty', 'failed'].includes(first)) {
      extra.directory = first as StepAnswer['directory']
    } else if (tag === 'C' && ['aborted', 'none', 'failed'].includes(first)) {
      extra.connection = first as StepAnswer['connection']
    }
  }
  return answers.map((answer, index) => (answer === null ? null : { ...answer, ...extras[index] }))
}
