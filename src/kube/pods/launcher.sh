#!/bin/sh
# Starts mysqld in a pod's mysql container, on the word of the agent beside it and of nobody else. An init container puts this file there, so that any image with
# a shell will do. After a crash mysqld waits for that word again: the start gate holds, and no kubelet back-off comes in between.
#
# The folder $1 is shared with the agent. In it:
#   word           a FIFO; the agent writes "run <id>" or "quit"
#   beside         another one; "run <id>" runs a program while mysqld runs: a throw-away server
#   <id>.command   what to run, an argument a line; written by the agent before the word
#   <id>.pid       its process id, written here once it runs
#   <id>.ended     its exit status, 128 + the signal's number where one ended it; written here
#   heartbeat      changes at least every second while the agent lives
#   terminating    made here when the pod is told to end
#
# mysqld writes its error log to a file of the volume, $3, where the agent reads it; from here it goes to where `kubectl logs` finds it too.
#
# SIGTERM is not passed on: a server that is shut down acknowledges what nobody else holds. The agent hands the primary over, ends mysqld and says "quit". An agent that has been silent
# for too long says nothing any more: then mysqld is killed, which is always safe.
set -u
folder=${1:?the folder shared with the agent}
patience=${2:-20}
log=${3:-}
watcher=
follower=
besides=

say() { printf '%s launcher: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*" >&2; }

# The agent never sees half a file.
report() {
  printf '%s\n' "$2" >"$folder/$1.new" && mv "$folder/$1.new" "$folder/$1"
}

terminate() {
  [ -e "$folder/terminating" ] && return
  say 'the pod ends; waiting for the agent to hand over and to say so'
  report terminating "$(date -u +%s)"
  watch 4<&- &
  watcher=$!
}

# Runs beside: the launcher itself waits for mysqld or for a word.
watch() {
  silent=0
  last=
  while [ "$silent" -lt "$patience" ]; do
    sleep 1
    now=$(cat "$folder/heartbeat" 2>/dev/null || true)
    if [ "$now" = "$last" ]; then silent=$((silent + 1)); else silent=0; fi
    last=$now
  done
  say "the agent is silent for $patience s; mysqld is killed"
  for file in "$folder"/*.pid; do
    [ -e "$file" ] && [ ! -e "${file%.pid}.ended" ] && kill -KILL "$(cat "$file")" 2>/dev/null
  done
  printf 'quit\n' >&3
}

# From where the log ends before mysqld writes: what earlier servers said was shown by them. By name, since the log may be cut or be another file one day. One that ended is begun again with the next mysqld,
# since nothing here may wait for it. mysqld writes to the file alone, so whatever becomes of this process costs it nothing.
follow() {
  [ -f "$log" ] || return
  [ -n "$follower" ] && kill -0 "$follower" 2>/dev/null && return
  # The size is the fifth field (POSIX). Not by `wc`, which reads the whole of it in some images.
  set -- $(ls -n "$log")
  tail -c "+$((${5:-0} + 1))" -F "$log" 3<&- 4<&- >&2 &
  follower=$!
}

run() {
  id=$1
  [ -e "$folder/$id.command" ] || { say "there is no $id.command"; return; }
  [ -e "$folder/$id.pid" ] && { say "$id ran already"; return; }
  set --
  while IFS= read -r argument || [ -n "$argument" ]; do set -- "$@" "$argument"; done <"$folder/$id.command"
  follow
  "$@" 3<&- 4<&- &
  child=$!
  report "$id.pid" "$child"
  # A signal to the launcher ends `wait`, not the child. A child that dies while the trap runs is told as ended by that signal: these are words alone, for its error log tells how a server ended.
  while :; do
    wait "$child"
    status=$?
    kill -0 "$child" 2>/dev/null || break
  done
  report "$id.ended" "$status"
}

# Runs what the agent wants beside mysqld, one after the other, in a process of its own: the launcher waits for mysqld. It reads until the launcher is gone, which alone keeps that FIFO open for writing.
beside() {
  log=
  child=
  trap '[ -n "$child" ] && kill -KILL "$child"; exit' TERM
  while read -r word id; do
    [ "$word" = run ] && run "$id"
    child=
  done
}

if [ -n "$log" ] && ! command -v tail >/dev/null; then
  say "this image has no tail: the error log of mysqld is in $log and not here"
  log=
fi

# Whoever connects over TLS and names no authority makes OpenSSL read every public one of the image first, each time: a replica that turns to a new primary would wait for it. An environment that names a file is left so.
export SSL_CERT_FILE="${SSL_CERT_FILE-/dev/null}"

trap terminate TERM INT
rm -f "$folder/terminating"
rm -f "$folder/word" "$folder/word.new" "$folder/beside" "$folder/beside.new"
mkfifo -m 600 "$folder/beside.new"
exec 4<>"$folder/beside.new" 5<"$folder/beside.new"
# By exec: a redirection of a call is taken back, and keeps what it closed open meanwhile.
(exec <&5 4<&- 5<&- && beside) &
besides=$!
exec 5<&-
mv "$folder/beside.new" "$folder/beside"
mkfifo -m 600 "$folder/word.new"
# Open in both directions: a word is not lost while nobody reads, and reading does not end when a writer goes. There only once it is open: the agent takes one that nobody reads for a dead launcher's.
exec 3<>"$folder/word.new"
mv "$folder/word.new" "$folder/word"
say 'waiting for the word of the agent'
while :; do
  word= id=
  read -r word id <&3 || continue
  case $word in
    run) run "$id" ;;
    quit) break ;;
    *) say "does not understand \"$word\"" ;;
  esac
done
say 'ends'
# By SIGKILL: one that has just been forked may still have the launcher's trap. Some shells would say that it was killed.
exec 2>/dev/null
kill "$besides"
for helper in $watcher $follower; do kill -KILL "$helper"; done
exit 0
