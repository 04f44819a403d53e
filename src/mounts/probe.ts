/**
 * The script that looks at the mounts of one node, and the lines that it writes; facts.ts reads them.
 *
 * POSIX sh for dash, busybox and bash. It wants cat, ls, mkdir, mkfifo, rm and sleep; everything else it does without, and says so.
 * It never reads a unit's Environment, and of arguments (which may hold secrets) nothing leaves the node: they are only compared
 * with the paths of mounts.
 *
 * How a mount is asked: the look-up of a name that nobody has asked for. The kernel has no answer to that in its caches, so it
 * must ask the server (fuse_lookup_name, fs/fuse/dir.c); `stat` of the mount's root is answered from the cache for as long as the
 * server once said, dead or not, and so is `ls -d`. "No such file" is an answer, so the server lives.
 * One look-up per superblock: bind copies have one connection (struct fuse_conn) and are dead or alive together.
 * Without allow_other the kernel refuses everybody but the mount's user, root too, whether the server lives or not
 * (fuse_allow_current_process), so there the question is put as that user and group.
 *
 * A line is a tag and fields with one blank between; in a field a backslash, blank, tab and newline are written as mountinfo does
 * (`\134`, `\040`, `\011`, `\012`), all other bytes as they are.
 *
 *     V 1                                             version, always first
 *     F ID PARENT DEVICE ROOT TARGET OPTIONS TYPE SOURCE SUPEROPTIONS    a FUSE mount of the node
 *     O ID PARENT DEVICE TYPE TARGET                  any other mount of the node
 *     A DEVICE CODE DETAIL WORDS                      what asking the superblock gave, see below
 *     G ID                                            a FUSE mount that is no longer there when all have been asked
 *     K ROOT PODS PLUGINS                             a kubelet's root directory, and its two folders with symbolic links resolved
 *     P PATH JSON                                     a CSI volume's folder below a pod, and its vol_data.json
 *     S PATH CONTENT JSON                             a staging folder (the one above globalmount); CONTENT of globalmount is
 *                                                     `mounted`, `empty`, `files` or `none`
 *     L PATH CONTENT                                  a plugin's folder; CONTENT is `empty`, `files` or `socket`
 *     D PATH LOADED                                   a unit's drop-in folder; whether the unit is there: `yes` or `no`
 *     U NAME ACTIVE PID TARGET                        a unit whose arguments name a mount, or whose name says that it serves one
 *     C PID UID DEVICE TARGET                         a process with /dev/fuse open: its pod, the superblock, the mount it names
 *     R UID                                           a pod with processes
 *     X UID DEVICE TYPE TARGET                        a FUSE mount in a container's mount namespace
 *     N SENTENCE                                      what could not be looked at
 *     E                                               the end: without it, lines are missing
 *
 * CODE is `ok`, `no-answer` (killed when the time was over), `stuck` (not even that: DETAIL is the process id), `refused` (DETAIL
 * is uid:gid, empty for root), `error` (WORDS are the C library's for the errno), `not-asked` (WORDS say why).
 */
import { shellQuote } from '../node/shell-quote.js'
import type { NodeScript } from '../node/types.js'

export interface ProbeOptions {
  /** How long one mount may take to answer, milliseconds; nodes whose sleep knows no parts of a second take whole ones. */
  answerWithinMs: number
  /** Letters and digits, new for every run: a name that was asked for before may be answered from a cache. */
  random: string
  /** Mounts that are asked at the same time; 16 unless said. */
  parallel?: number
}

/** As much as a node with tens of thousands of mounts says. */
const MAX_BYTES = 64 * 1024 * 1024

export function probeScript({ answerWithinMs, random, parallel = 16 }: ProbeOptions): NodeScript {
  const parameters = {
    tenths: String(Math.max(1, Math.ceil(answerWithinMs / 100))),
    parallel: String(Math.max(1, parallel)),
    random: random.replace(/[^A-Za-z0-9]/g, ''),
  }
  const head = Object.entries(parameters).map(([name, value]) => `${name}=${shellQuote(value)}\n`)
  return { text: head.join('') + SCRIPT, maxBytes: MAX_BYTES }
}

// `@{` stands for the shell's own, which a template would take for its own.
const SCRIPT = String.raw`
LC_ALL=C
export LC_ALL
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
set -f
umask 077
tab=$(printf '\t.')
tab=@{tab%.}
nl='
'
IFS=' '
probe=.kubectl-storage-probe-$random

# --- text

# The text as a field of a line, in $R.
enc() {
  case $1 in
  *[\\\ "$tab$nl"]*) ;;
  *)
    R=$1
    return
    ;;
  esac
  R=
  left=$1
  while :; do
    case $left in
    *[\\\ "$tab$nl"]*) ;;
    *)
      R=$R$left
      return
      ;;
    esac
    part=@{left%%[\\\ "$tab$nl"]*}
    left=@{left#"$part"}
    case $left in
    \\*) R=$R$part'\134' ;;
    ' '*) R=$R$part'\040' ;;
    "$tab"*) R=$R$part'\011' ;;
    *) R=$R$part'\012' ;;
    esac
    left=@{left#?}
  done
}

# A path of mountinfo as it is, in $R.
dec() {
  case $1 in
  *\\*) ;;
  *)
    R=$1
    return
    ;;
  esac
  left=$1
  R=
  while :; do
    case $left in
    *\\*)
      R=$R@{left%%\\*}'\0'
      left=@{left#*\\}
      ;;
    *)
      R=$R$left
      break
      ;;
    esac
  done
  # The dot keeps the newlines at the end.
  R=$(printf '%b.' "$R")
  R=@{R%.}
}

note() {
  enc "$1"
  printf 'N %s\n' "$R"
}

# --- a place for what goes on: memory before disk

work=
for place in /run /dev/shm /tmp; do
  work=$place/kubectl-storage-$random-$$
  mkdir "$work" 2>/dev/null && break
  work=
done
if [ -z "$work" ]; then
  echo 'no folder can be made in /run, /dev/shm or /tmp' >&2
  exit 1
fi
keeper=
cleanup() {
  [ -n "$keeper" ] && kill "$keeper" 2>/dev/null
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM PIPE
mkfifo "$work/tokens" "$work/pipe" || exit 1
exec 8<>"$work/tokens"

# --- asking under a time limit

# Of a command's end and of the time that is over, only the first to make this file counts: it hands back the token. So nobody
# waits for a process that can't be killed, and there is one token for each start.
over() {
  (set -C && : >"$work/$1.over") 2>/dev/null
}

# Runs "$@[2…]"; what it wrote goes to NAME.out and NAME.err, and how it ended to NAME.end.
watched() {
  name=$1
  shift
  "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null 8>&- &
  finish "$name" "$!"
}
finish() {
  echo "$2" >"$work/$1.new"
  mv "$work/$1.new" "$work/$1.run"
  wait "$2" 2>/dev/null
  status=$?
  over "$1" || exit
  [ -e "$work/$1.late" ] && status=late
  echo "$status" >"$work/$1.end"
}

# $R: how the command of that name ended; $words: the last that it said, after the last colon.
result() {
  read -r R <"$work/$1.end"
  words=
  while read -r line || [ -n "$line" ]; do words=$line; done <"$work/$1.err"
  words=@{words##*: }
}

# Kills what takes too long, and gives up on what can't be killed. Names that begin with a digit are mounts.
if sleep 0.1 2>/dev/null; then
  nap=0.1
else
  nap=1
  tenths=$(((tenths + 9) / 10))
fi
keep_time() {
  trap 'kill "$napping" 2>/dev/null; exit' TERM
  napping=
  if [ "$nap" = 1 ]; then grace=2 slow=10; else grace=10 slow=100; fi
  [ "$tenths" -gt "$slow" ] && slow=$tenths
  now=0
  set +f
  while :; do
    sleep "$nap" 8>&- &
    napping=$!
    wait "$napping"
    now=$((now + 1))
    for file in "$work"/*.run; do
      name=@{file##*/}
      name=@{name%.run}
      [ -e "$file" ] && [ ! -e "$work/$name.over" ] || continue
      key=@{name%.*}_@{name##*.}
      eval "since=\@{since_$key:-}"
      if [ -z "$since" ]; then
        eval "since_$key=$now"
        continue
      fi
      case $name in
      [0-9]*) limit=$tenths ;;
      *) limit=$slow ;;
      esac
      [ $((now - since)) -ge "$limit" ] || continue
      read -r pid <"$file"
      if [ ! -e "$work/$name.late" ]; then
        : >"$work/$name.late"
        [ -e "$work/$name.over" ] || kill -KILL "$pid" 2>/dev/null
      elif [ $((now - since)) -ge $((limit + grace)) ]; then
        over "$name" || continue
        echo "$pid" >"$work/@{name%.*}.stuck"
        echo >&8
      fi
    done
  done
}
keep_time >/dev/null 2>&1 </dev/null &
keeper=$!

# The command before "$@" that runs it as uid:gid $1. The right to pass folders is kept: the way to the mount may be another's.
as_user() {
  case $way in
  # With its path, for a busybox that takes its own, lesser one.
  setpriv-path) R="/usr/bin/setpriv --reuid=@{1%:*} --regid=@{1#*:} --clear-groups --inh-caps=+dac_read_search --ambient-caps=+dac_read_search" ;;
  setpriv-caps) R="setpriv --reuid=@{1%:*} --regid=@{1#*:} --clear-groups --inh-caps=+dac_read_search --ambient-caps=+dac_read_search" ;;
  setpriv) R="setpriv --reuid=@{1%:*} --regid=@{1#*:} --clear-groups" ;;
  chpst) R="chpst -u @{1%:*}:@{1#*:}" ;;
  chroot) R="chroot --userspec=+@{1%:*}:+@{1#*:} --groups= /" ;;
  esac
}
way=
find_way() {
  [ -z "$way" ] || return
  for way in setpriv-caps setpriv-path setpriv chroot chpst; do
    as_user 65534:65534
    $R ls -d / >/dev/null 2>&1 </dev/null && return
  done
  way=none
}

# One superblock: NUMBER PATH USER, USER being - for root. The end of its line goes to NUMBER.line.
ask() {
  R=
  [ "$3" = - ] || as_user "$3"
  become=$R
  watched "$1.1" $become ls -d "$2/$probe"
  result "$1.1"
  if [ "$words" = 'Not a directory' ]; then
    # A file is mounted, and the kernel said so by itself. Who may not ask at all is refused by ls, and then statfs goes to the
    # server (fuse_statfs gives zeros to who may not ask).
    watched "$1.2" $become ls -d "$2"
    result "$1.2"
    if [ "$R" = 0 ]; then
      watched "$1.3" $become stat -f "$2"
      result "$1.3"
    fi
  fi
  case $R:$words in
  late:*) line='no-answer  ' ;;
  0:* | *:'No such file or directory') line='ok  ' ;;
  126:* | 127:*) line='not-asked  the\040node\040lacks\040stat,\040which\040a\040mounted\040file\040is\040asked\040with' ;;
  *:'Permission denied') line="refused @{3#-} " ;;
  *)
    enc "$words"
    line="error  $R"
    ;;
  esac
  printf '%s\n' "$line" >"$work/$1.line"
  echo >&8
}

# --- the mount table: process 1's, whatever namespace this shell is in

at=
node_space=$(readlink /proc/1/ns/mnt 2>/dev/null)
if [ "$(readlink /proc/self/ns/mnt 2>/dev/null)" != "$node_space" ]; then at=/proc/1/root; fi

# A password in a source (ftp://user:password@host) stays here.
masked() {
  R=$1
  case $1 in
  *://*@*)
    left=@{1#*://}
    authority=@{left%%/*}
    case $authority in
    *@*) R=@{1%%://*}://***@@{authority##*@}@{left#"$authority"} ;;
    esac
    ;;
  esac
}

# Who may ask, by the options of the superblock.
user_of() {
  U=-
  case ,$1, in
  *,allow_other,*) return ;;
  *,user_id=*) ;;
  *) return ;;
  esac
  uid=@{1#*user_id=}
  gid=@{1#*group_id=}
  U=@{uid%%,*}:@{gid%%,*}
  case $U in
  0:0 | *[!0-9:]*) U=- ;;
  esac
}

echo 'V 1'
[ "$(id -u 2>/dev/null)" = 0 ] || note 'this did not run as root: not all could be seen'
if ! cat /proc/1/mountinfo >"$work/table" 2>/dev/null; then
  echo '/proc/1/mountinfo cannot be read' >&2
  exit 1
fi

roots=$nl
add_root() {
  case $roots in
  *"$nl$1$nl"*) ;;
  *) roots=$roots$1$nl ;;
  esac
}
# Splits what follows the mount options: optional fields, "-", type, source, options of the superblock.
split_rest() {
  left=" $1"
  left=@{left#* - }
  type=@{left%% *}
  left=@{left#* }
  source=@{left%% *}
  super=@{left#* }
}

targets=$nl
staged=$nl
while read -r id parent device root target options rest; do
  split_rest "$rest"
  case $target in
  */plugins/kubernetes.io/csi/*/globalmount)
    add_root "@{target%%/plugins/kubernetes.io/csi/*}"
    staged=$staged$target$nl
    ;;
  */pods/????????-????-????-????-????????????/volumes/*)
    add_root "@{target%/pods/????????-????-????-????-????????????/volumes/*}"
    ;;
  esac
  case $type in
  fuse | fuse.* | fuseblk)
    masked "$source"
    printf 'F %s %s %s %s %s %s %s %s %s\n' "$id" "$parent" "$device" "$root" "$target" "$options" "$type" "$R" "$super"
    targets=$targets$target$nl
    printf '%s %s %s %s\n' "$id" "$device" "$target" "$super" >>"$work/fuse"
    ;;
  *) printf 'O %s %s %s %s %s\n' "$id" "$parent" "$device" "$type" "$target" ;;
  esac
done <"$work/table"

# Mounts on the way to a FUSE mount, itself included: "id parent target" a line. They are few, and all that decides where a path leads.
way_points=
first=
if [ -e "$work/fuse" ]; then
  while read -r id parent device root target rest; do
    case $targets in
    *"$nl$target/"* | *"$nl$target$nl"*) ;;
    *) [ "$target" = / ] || continue ;;
    esac
    way_points="$way_points$id $parent $target$nl"
    [ -n "$first" ] || [ "$target" != / ] || first=$id
  done <"$work/table"
fi

# Whether path $2 leads to mount $1, and not to one that covers it. A walk from the first mount of / crosses the nearest mount
# on the way, again and again.
leads_to() {
  walk=$first
  while :; do
    nearest=
    next=
    IFS=$nl
    for point in $way_points; do
      on=@{point#* }
      [ "@{on%% *}" = "$walk" ] || continue
      on=@{on#* }
      case $2/ in
      "@{on%/}"/*)
        if [ -z "$next" ] || [ @{#on} -lt @{#nearest} ]; then
          nearest=$on
          next=@{point%% *}
        fi
        ;;
      esac
    done
    IFS=' '
    if [ -z "$next" ] || [ "$next" = "$walk" ]; then break; fi
    walk=$next
  done
  [ "$walk" = "$1" ]
}

# DEVICE TARGET SUPEROPTIONS PREFIX: each superblock is asked once.
devices=' '
: >"$work/jobs"
add_job() {
  devices="$devices$1 "
  user_of "$3"
  [ "$U" = - ] || find_way
  printf '%s %s %s %s\n' "$1" "$U" "@{4:--}" "$2" >>"$work/jobs"
}
if [ -e "$work/fuse" ]; then
  while read -r id device target super; do
    case $devices in
    *" $device "*) continue ;;
    esac
    if leads_to "$id" "$target"; then add_job "$device" "$target" "$super" "$at"; fi
  done <"$work/fuse"
fi

# --- mount namespaces of containers

# The pod that process $1 is in, in $R: kubepods-burstable-podUID.slice, /kubepods/burstable/podUID.
pod_of() {
  R=
  [ -r "/proc/$1/cgroup" ] || return
  while read -r line; do
    case $line in
    *kubepods*pod*) ;;
    *) continue ;;
    esac
    line=@{line##*kubepods}
    line=@{line#*pod}
    line=@{line%%[./]*}
    case $line in
    *[!0-9a-fA-F_-]* | '') ;;
    *) R=$line ;;
    esac
  done <"/proc/$1/cgroup" 2>/dev/null
}

spaces=' '
pods=' '
set +f
ls -l /proc/[0-9]*/ns/mnt >"$work/spaces" 2>/dev/null
set -f
while read -r line; do
  space=@{line##* }
  [ "$space" = "$node_space" ] && continue
  case $spaces in
  *" $space "*) continue ;;
  esac
  pid=@{line#*/proc/}
  pid=@{pid%%/*}
  pod_of "$pid"
  pod=$R
  [ -n "$pod" ] && [ -r "/proc/$pid/mountinfo" ] || continue
  spaces="$spaces$space "
  case $pods in
  *" $pod "*) ;;
  *)
    pods="$pods$pod "
    printf 'R %s\n' "$pod"
    ;;
  esac
  while read -r id parent device root target options rest; do
    split_rest "$rest"
    case $type in
    fuse | fuse.* | fuseblk) ;;
    *) continue ;;
    esac
    printf 'X %s %s %s %s\n' "$pod" "$device" "$type" "$target"
    case $devices in
    *" $device "*) ;;
    *) add_job "$device" "$target" "$super" "/proc/$pid/root" ;;
    esac
  done <"/proc/$pid/mountinfo" 2>/dev/null
done <"$work/spaces"

# --- all are asked, some at a time, and the node's own tools with them

started=
running=0
start() {
  while [ "$running" -ge "$parallel" ]; do next_end; done
  running=$((running + 1))
  "$@" >/dev/null 2>&1 </dev/null &
  started="$started$2 $!$nl"
}
next_end() {
  read -r R <&8
  running=$((running - 1))
}

# A unit tells only which mount it serves: its arguments are compared here.
ask_units() {
  systemctl show '*.service' -p Id -p ActiveState -p MainPID -p ExecStart >"$work/pipe" 2>"$work/units.1.err" </dev/null 8>&- &
  pid=$!
  echo "$pid" >"$work/units.1.run"
  id= active= main=0 serves=
  while :; do
    more=yes
    read -r line || more=
    case $line in
    Id=*) id=@{line#Id=} ;;
    ActiveState=*) active=@{line#ActiveState=} ;;
    MainPID=*) main=@{line#MainPID=} ;;
    ExecStart=*)
      IFS=$nl
      for target in $targets; do
        [ -n "$target" ] || continue
        dec "$target"
        # Newer systemd quotes words with blanks in them.
        case $line in
        *" $R "* | *" \"$R\" "* | *" '$R' "*) serves=$target ;;
        esac
      done
      IFS=' '
      ;;
    '')
      case $serves:$id in
      :geesefs-* | [!:]*)
        enc "$id"
        printf 'U %s %s %s %s\n' "$R" "$active" "$main" "$serves" >>"$work/units.found"
        ;;
      esac
      id= active= main=0 serves=
      ;;
    esac
    [ -n "$more" ] || break
  done <"$work/pipe"
  finish units.1 "$pid"
  result units.1
  [ "$R" = 0 ] || echo "systemctl could not tell the units ($R)" >"$work/units.note"
  echo >&8
}

ask_processes() {
  set +f
  watched processes.1 find /proc/[0-9]*/fd -lname /dev/fuse
  result processes.1
  # Processes that end meanwhile make find fail; only one that knows no -lname says nothing of any.
  if [ "$R" = late ] || find /proc/self/fd -lname / >/dev/null 2>&1; then
    [ "$R" != late ] || echo 'find took too long: which process serves a mount is not known' >"$work/processes.note"
  else
    watched processes.2 ls -l /proc/[0-9]*/fd
    result processes.2
    grep -e '^/proc/.*:$' -e ' -> /dev/fuse$' "$work/processes.2.out" >"$work/processes.3.out" || R=late
    [ "$R" != late ] || echo 'which process serves a mount is not known: find has no -lname, and ls did not do' >"$work/processes.note"
    while read -r line; do
      case $line in
      /proc/*:) folder=@{line%:} ;;
      *)
        line=@{line% -> *}
        echo "$folder/@{line##* }"
        ;;
      esac
    done <"$work/processes.3.out" >"$work/processes.1.out"
  fi
  set -f
  echo >&8
}

number=0
: >"$work/answers"
while read -r device user prefix target; do
  number=$((number + 1))
  if [ "$user" != - ] && [ "$way" = none ]; then
    enc "only uid:gid $user may ask, and the node has neither setpriv nor chroot --userspec nor chpst"
    printf 'A %s not-asked  %s\n' "$device" "$R"
    continue
  fi
  dec "$target"
  start ask "$number" "@{prefix#-}$R" "$user"
  printf '%s %s %s\n' "$number" "$device" "$prefix" >>"$work/answers"
done <"$work/jobs"
units=
if [ -n "$at" ]; then
  note 'the units were not looked at: this did not run in the mount namespace of the node'
elif command -v systemctl >/dev/null 2>&1; then
  units=yes
  start ask_units units
else
  note 'the node has no systemctl: which unit serves a mount is not known'
fi
if command -v find >/dev/null 2>&1; then
  start ask_processes processes
else
  note 'the node has no find: which process serves a mount is not known'
fi

# --- meanwhile, the kubelet's folders

json_of() {
  json=
  [ -r "$1" ] && read -r json <"$1" 2>/dev/null
}
set +f
for file in /proc/[0-9]*/comm; do
  read -r name <"$file" || continue
  case $name in
  kubelet | kubelite | k3s | k3s-server | k3s-agent | rke2 | k0s | hyperkube) ;;
  *) continue ;;
  esac
  command -v tr >/dev/null 2>&1 || continue
  tr '\0' '\n' <"@{file%comm}cmdline" >"$work/arguments"
  before=
  while read -r argument; do
    case $before:$argument in
    --root-dir:/*) enc "$argument" && add_root "$R" ;;
    *:--root-dir=/*) enc "@{argument#--root-dir=}" && add_root "$R" ;;
    *:--kubelet-arg=root-dir=/*) enc "@{argument#--kubelet-arg=root-dir=}" && add_root "$R" ;;
    --kubelet-arg:root-dir=/*) enc "@{argument#root-dir=}" && add_root "$R" ;;
    esac
    before=$argument
  done <"$work/arguments"
  rm -f "$work/arguments"
done 2>/dev/null
set -f
for root in /var/lib/kubelet /var/lib/k0s/kubelet /var/snap/microk8s/common/var/lib/kubelet /var/lib/rancher/k3s/agent/kubelet; do
  [ -d "$at$root/pods" ] && add_root "$root"
done

# The folder without symbolic links, as the mount table has it, in $R.
real() {
  R=$1
  [ -z "$at" ] || return
  R=$(cd -P "$1" 2>/dev/null && pwd -P && echo .)
  R=@{R%"$nl".}
}
holds() {
  C=none
  [ -d "$1" ] || return
  C=empty
  for entry in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    case $entry in
    "$1/*" | "$1/.[!.]*" | "$1/..?*") ;;
    *)
      C=files
      return
      ;;
    esac
  done
}

seen=$nl
IFS=$nl
for root in $roots; do
  IFS=' '
  [ -n "$root" ] || continue
  dec "$root"
  root=$R
  real "$root/pods"
  pods_folder=$R
  real "$root/plugins"
  plugins=$R
  case $seen in
  *"$nl$pods_folder $plugins$nl"*) continue ;;
  esac
  [ -n "$pods_folder$plugins" ] || continue
  seen=$seen"$pods_folder $plugins"$nl
  enc "$root"
  line="K $R"
  enc "$pods_folder"
  line="$line $R"
  enc "$plugins"
  printf '%s %s\n' "$line" "$R"
  set +f
  # Nothing after the last star: the shell would look at the mounts themselves.
  for folder in "$at$pods_folder"/*/volumes/kubernetes.io~csi/*; do
    case $folder in
    */'*') continue ;;
    esac
    json_of "$folder/vol_data.json"
    enc "@{folder#"$at"}"
    line="P $R"
    enc "$json"
    printf '%s %s\n' "$line" "$R"
  done
  for folder in "$at$plugins"/kubernetes.io/csi/*/*; do
    case $folder in
    */'*') continue ;;
    esac
    json_of "$folder/vol_data.json"
    enc "@{folder#"$at"}"
    line="S $R"
    case $staged in
    *"$nl$R/globalmount$nl"*) C=mounted ;;
    *) holds "$folder/globalmount" ;;
    esac
    enc "$json"
    printf '%s %s %s\n' "$line" "$C" "$R"
  done
  for folder in "$at$plugins"/*; do
    case $folder in
    */'*' | */kubernetes.io) continue ;;
    esac
    [ -d "$folder" ] || continue
    enc "@{folder#"$at"}"
    # A folder that something is mounted in is in use, and is not looked into.
    case $targets in
    *"$nl$R/"* | *"$nl$R$nl"*) C=files ;;
    *)
      holds "$folder"
      for file in "$folder"/*.sock "$folder"/*/*.sock; do
        [ -S "$file" ] && C=socket
      done
      ;;
    esac
    printf 'L %s %s\n' "$R" "$C"
  done
  set -f
  IFS=$nl
done
IFS=' '
set +f
for folder in "$at"/run/systemd/system/geesefs-*.d; do
  [ -d "$folder" ] || continue
  unit=@{folder##*/}
  loaded=no
  [ -e "$at/run/systemd/transient/@{unit%.d}" ] && loaded=yes
  enc "@{folder#"$at"}"
  printf 'D %s %s\n' "$R" "$loaded"
done
set -f

# --- the answers

while [ "$running" -gt 0 ]; do next_end; done
kill "$keeper" 2>/dev/null
keeper=
# A process that can't be killed is waited for by one that can.
IFS=$nl
for line in $started; do
  [ -e "$work/@{line% *}.stuck" ] && kill -KILL "@{line##* }"
done
IFS=' '

while read -r number device prefix; do
  line='not-asked  it\040was\040not\040asked'
  if [ -e "$work/$number.stuck" ]; then
    read -r pid <"$work/$number.stuck"
    line="stuck $pid "
  elif [ -s "$work/$number.line" ]; then
    read -r line <"$work/$number.line"
  fi
  case $prefix in
  /proc/1/root | -) ;;
  *) readlink "@{prefix%/root}/ns/mnt" >/dev/null 2>&1 || line='not-asked  the\040container\040ended\040meanwhile' ;;
  esac
  # Blanks at the end are fields.
  case $line in
  ok | no-answer) line="$line  " ;;
  'refused '* | 'stuck '*) line="$line " ;;
  refused) line='refused  ' ;;
  esac
  printf 'A %s %s\n' "$device" "$line"
done <"$work/answers"

if [ -e "$work/fuse" ] && cat /proc/1/mountinfo >"$work/again"; then
  still=' '
  while read -r id parent device root target rest; do still="$still$id:$device:$target "; done <"$work/again"
  while read -r id device target super; do
    case $still in
    *" $id:$device:$target "*) ;;
    *) printf 'G %s\n' "$id" ;;
    esac
  done <"$work/fuse"
fi

[ -e "$work/units.stuck" ] && echo 'systemctl did not end' >"$work/units.note"
[ -e "$work/units.note" ] && read -r line <"$work/units.note" && note "$line"
[ -e "$work/units.found" ] && cat "$work/units.found"
[ -e "$work/processes.stuck" ] && echo 'find did not end' >"$work/processes.note"
[ -e "$work/processes.note" ] && read -r line <"$work/processes.note" && note "$line"

seen=' '
if [ -e "$work/processes.1.out" ]; then
  while read -r file; do
    pid=@{file#/proc/}
    pid=@{pid%%/*}
    device=
    info=/proc/$pid/fdinfo/@{file##*/}
    if [ -r "$info" ]; then
      # Since Linux 6.17 the kernel says which.
      while read -r key; do
        case $key in
        fuse_connection:*)
          device=@{key#fuse_connection:}
          device=0:@{device##*[ $tab]}
          ;;
        esac
      done <"$info" 2>/dev/null
    fi
    case $seen in
    *" $pid:$device "*) continue ;;
    esac
    seen="$seen$pid:$device "
    serves=
    if command -v tr >/dev/null 2>&1; then
      tr '\0' '\n' <"/proc/$pid/cmdline" >"$work/arguments" 2>/dev/null
      while read -r argument; do
        enc "$argument"
        case $targets in
        *"$nl$R$nl"*) serves=$R ;;
        esac
      done <"$work/arguments"
    fi
    pod_of "$pid"
    printf 'C %s %s %s %s\n' "$pid" "$R" "$device" "$serves"
  done <"$work/processes.1.out"
fi
echo E
`.replaceAll('@{', '${')
