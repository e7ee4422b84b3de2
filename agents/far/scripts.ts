/**
 * Scripts for a far host, in POSIX sh. They are sent along with each call, and nothing of them stays there. Arguments
 * come quoted (`ssh.ts`).
 */

/**
 * Prints `boot` and the boot id of the host; then the state of the server whose pid is in a file, whenever that
 * changes, and a dot every second: `pid startTicks state`, or `none`; `R` runs, `T` is stopped, `Z` is being torn
 * down. Another program that has the number of an old pid file works in another folder. Where this user is not shown
 * that, its command line tells. A server that is known lives on without its pid file: somebody may have removed that
 * file. A server that is there and cannot be read is as it was: a host may have no file left to open, nor a process. A
 * write that fails ends the script.
 *
 * `$1` pid file, `$2` data folder, `$3` seconds between two looks, `$4` looks in a second; of the server that is known
 * already `$5` pid, `$6` start ticks
 */
export const watchScript = String.raw`
{ read -r boot < /proc/sys/kernel/random/boot_id; } && echo "boot $boot" || exit
last= known="$5 $6" looks=$4
while :; do
  now=none pid=
  { read -r pid < "$1"; } 2>/dev/null
  for one in "$pid" "\${known%% *}"; do
    case $one in ''|*[!0-9]*) continue;; esac
    { read -r line < "/proc/$one/stat"; } 2>/dev/null || { [ ! -e "/proc/$one" ] || now=$last; continue; }
    rest=\${line##*) }
    state=\${rest%% *}
    set -- "$1" "$2" "$3" "$4" "$5" "$6" $rest
    life="$one \${26}"
    case $state in T|t) state=T;; Z|X|x) state=Z; [ "\${24}" -gt 1 ] || state=X;; *) state=R;; esac
    # PF_EXITING: killed, and giving its memory back.
    [ $((\${13} & 4)) = 0 ] || [ $state = X ] || state=Z
    cwd=/proc/$one/cwd
    if [ "$life" = "$known" ] || { [ "$one" = "$pid" ] && [ "$cwd" -ef "$2" ]; } ||
      { [ "$one" = "$pid" ] && [ ! -e "$cwd" ] && grep -qa -e mysqld -e mariadbd "/proc/$one/cmdline"; }; then
      [ $state = X ] || { known=$life now="$life $state"; break; }
    fi
  done
  [ "$now" = "$last" ] || echo "$now" || exit
  last=$now
  looks=$((looks + 1))
  if [ $looks -ge "$4" ]; then
    looks=0
    echo ". $(df -Pk "$2" 2>/dev/null | { read -r _; read -r _ _ _ free _; echo "$free"; })" || exit
  fi
  sleep "$3" || exit
done
`.replaceAll('\\$', '$')

/** Ends exactly this process, and no other that has its number by now. `$1` pid, `$2` start ticks */
export const killScript = String.raw`
{ read -r line < "/proc/$1/stat"; } 2>/dev/null || exit 0
set -- "$1" "$2" \${line##*) }
[ "\${22}" = "$2" ] || exit 0
kill -9 "$1"
`.replaceAll('\\$', '$')

/**
 * Runs the command of the hosts file, and waits until a mysqld is there or has ended again. Whatever the command starts
 * outlives this connection. A new mysqld refuses to start while the old one's number is taken ("Another process with
 * pid … is using unix socket file"), which a dead one keeps until its parent asks for its end. The pid file is written
 * late, behind the recovery of the data: until then the process is known by the folder where it works.
 *
 * `$1` command, `$2` pid file, `$3` data folder, `$4` error log, or nothing; of the mysqld that ended `$5` pid, `$6`
 * start ticks
 */
export const startScript = String.raw`
looks=0
while [ $looks -lt 50 ] && { read -r line < "/proc/$5/stat"; } 2>/dev/null; do
  set -- "$1" "$2" "$3" "$4" "$5" "$6" \${line##*) }
  [ "\${26}" = "$6" ] || break
  looks=$((looks + 1))
  sleep 0.1
done
setsid sh -c "$1" </dev/null >/dev/null 2>&1 || { echo "the start command ended with $?" >&2; exit 1; }
missed=0
while [ $missed -lt 10 ]; do
  missed=$((missed + 1)) pid=
  { read -r pid < "$2"; } 2>/dev/null
  for one in /proc/[0-9]*; do
    { read -r comm < "$one/comm"; } 2>/dev/null
    # Where this user is not shown the folder, the program's name tells.
    if [ "$one/cwd" -ef "$3" ] || { [ ! -e "$one/cwd" ] && [ "$comm" = mysqld ]; }; then
      missed=0
      [ "$one" != "/proc/$pid" ] || exit 0
    fi
  done
  sleep 0.1
done
why=
[ -z "$4" ] || why=$(tail -n 200 -- "$4" | {
  while IFS= read -r line; do
    case $line in *'[MY-010116]'*) why=;; *'[ERROR]'*) why=\${why:-\${line#*\[ERROR] }};; esac
  done
  echo "$why"
})
echo "mysqld ended before it was up\${why:+: $why}" >&2
exit 1
`.replaceAll('\\$', '$')

/**
 * For each index of logs the script prints a line `=`; then `i` and a path for each log that the index names, and `f`
 * with inode, size, time of the last write and path of each log that is there. An index that is not there names no log,
 * with one exception: mysqld may have died while it replaced the index, and left the next index beside (`readIndex` in
 * `agents/binlog/set.ts`). `$1` data folder, then indexes
 */
export const logsScript = String.raw`
dir=$1
shift
for index; do
  echo =
  [ -x "$(dirname -- "$index")" ] || exit
  [ -e "$index" ] || [ ! -e "$index"_crash_safe ] || index="$index"_crash_safe
  [ -e "$index" ] || continue
  logs=$(cat -- "$index") || exit
  set --
  while IFS= read -r log; do
    case $log in '') continue;; /*) ;; *) log=$dir/$log;; esac
    printf 'i %s\n' "$log"
    [ ! -e "$log" ] || set -- "$@" "$log"
  done <<EOF || exit
$logs
EOF
  [ $# = 0 ] || stat -c 'f %i %s %y %n' -- "$@" || exit
done
`

/** A part of a file, and beside it its SHA-256. `$1` file, `$2` first byte, from 1; `$3` length */
export const pieceScript = `
tail -c "+$2" -- "$1" | head -c "$3" | sha256sum >&2 && tail -c "+$2" -- "$1" | head -c "$3"`

export const bootIdScript = 'cat /proc/sys/kernel/random/boot_id'

/** What is reported as held must survive a power cut. `$1` what the names of relay logs begin with */
export const syncScript = 'sync "$1"* "$(dirname "$1")" 2>/dev/null || sync'

/**
 * Writes a part of a file of the server's from standard input, behind the bytes that are there already, and prints the
 * SHA-256 of what is there behind these. The file belongs to whom the folder belongs to. `$1` file, `$2` offset
 */
export const writeScript = `
umask 027
truncate -s "$2" -- "$1" && cat >> "$1" || exit
chown --reference="$(dirname "$1")" "$1" 2>/dev/null
tail -c "+$(($2 + 1))" -- "$1" | sha256sum`

/**
 * Where the part of the error log begins that is of this process: inode and offset; nothing where the log does not say.
 * `$1` error log, or nothing; `$2` pid, `$3` start ticks
 */
export const markScript = String.raw`
[ -n "$1" ] && [ -e "$1" ] || exit 0
at=$(grep -ab "\[MY-010116\].* starting as process $2$" -- "$1" | tail -n 1 | cut -d: -f1)
{ read -r line < "/proc/$2/stat"; } 2>/dev/null || exit 0
set -- "$1" "$2" "$3" \${line##*) }
[ "\${23}" = "$3" ] || exit 0
[ -z "$at" ] || echo "$(stat -c %i -- "$1") $at"
`.replaceAll('\\$', '$')

/**
 * The flags of the newest binlog's first event (octal), its name, whether the error log is the one that was marked, and
 * what that says of shutdowns behind the mark. `$1` error log; `$2` index of the binlogs, `$3` data folder, `$4` inode,
 * `$5` offset, of the mark
 */
export const endingScript = String.raw`
index=$2
[ -e "$index" ] || [ ! -e "$index"_crash_safe ] || index="$index"_crash_safe
name=$(tail -n 1 -- "$index")
case $name in /*|'') path=$name;; *) path=$3/$name;; esac
if [ -n "$path" ]; then od -An -j21 -N1 -to1 -- "$path" | tr -d ' \n'; echo; else echo; fi
echo "$path"
if [ "$(stat -c %i -- "$1" 2>/dev/null)" = "$4" ] && [ "$(wc -c < "$1")" -gt "$5" ]; then
  echo marked
  tail -c "+$(($5 + 1))" -- "$1" | grep -ao -e '\[MY-013172\]' -e '\[MY-011086\]' | sort -u
else
  echo another
fi
`

/** The `server_uuid` of the next start. The file stays whose it is. `$1` data folder, `$2` server_uuid */
export const uuidScript = `
printf '[auto]\\nserver-uuid=%s\\n' "$2" > "$1/auto.cnf" && sync "$1/auto.cnf"`

/** What an agent does on a host, tried without a change there. `$1` data folder, `$2` index of the binlogs */
export const tryScript = `
for tool in tail head cat cut grep sort stat truncate sha256sum od df; do
  command -v "$tool" > /dev/null || { echo "$tool is not there" >&2; exit 1; }
done
[ -r "$2" ] || { echo "$2 cannot be read by user $(id -un)" >&2; exit 1; }
[ -w "$1" ] || { echo "user $(id -un) may not write in $1" >&2; exit 1; }`
