# shellcheck shell=bash
# Everything that is started goes into a cgroup named after it, and what it starts stays below: so all of it is found again and ended, whatever became of this
# tool meanwhile, and nothing else is. A cgroup does not survive a reboot, where a noted pid would name a stranger.

# Where each hierarchy of cgroups is mounted: one of version 2, several of version 1.
hierarchies() { awk '$3 == "cgroup" || $3 == "cgroup2" {print $2}' /proc/mounts; }

is_version_2() { [ -e /sys/fs/cgroup/cgroup.controllers ]; }

# The hierarchy in which membership is noted: any will do, and this one is on all machines that run containers.
tracking_root() {
  if is_version_2; then echo /sys/fs/cgroup; else echo /sys/fs/cgroup/pids; fi
}

# make_cgroup NAME: in every hierarchy, with a leaf `system` for what is started outside pods (in version 2, processes may be in leaves only).
make_cgroup() {
  local hierarchy part
  [ -d "$(tracking_root)" ] || die 'cgroups are not mounted as expected: there is neither /sys/fs/cgroup/cgroup.controllers (version 2) nor /sys/fs/cgroup/pids (version 1).'
  if is_version_2; then
    for part in cpu cpuset memory pids io hugetlb; do echo "+$part" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true; done
  fi
  for hierarchy in $(hierarchies); do
    mkdir -p "$hierarchy/$1" || die "the cgroup $hierarchy/$1 cannot be made. Is this a container without rights to its cgroups? Run on the machine itself."
    # A cpuset of version 1 starts empty, and nothing runs in an empty one.
    for part in cpuset.cpus cpuset.mems; do
      if ! is_version_2 && [ -e "$hierarchy/$1/$part" ]; then cat "$hierarchy/$part" >"$hierarchy/$1/$part"; fi
    done
  done
  mkdir -p "$(tracking_root)/$1/system"
}

# Processes of a cgroup in any hierarchy, its pods' containers with it.
processes_of() {
  local hierarchy
  for hierarchy in $(hierarchies); do
    [ ! -d "$hierarchy/$1" ] || find "$hierarchy/$1" -name cgroup.procs -exec cat {} + 2>/dev/null || true
  done | sort -un
}

# end_processes CGROUP: SIGKILL until nothing is left; a process may start another while the list is read.
end_processes() {
  local deadline=$((SECONDS + node_end_deadline_s)) pids
  while pids=$(processes_of "$1") && [ -n "$pids" ]; do
    # shellcheck disable=SC2086
    kill -KILL $pids 2>/dev/null || true
    [ "$SECONDS" -lt "$deadline" ] || die "processes of $1 did not end in $node_end_deadline_s s: $(tr '\n' ' ' <<<"$pids"). They may hang in the kernel; look with: ps -o pid,stat,wchan,args -p <pid>"
    sleep .1
  done
}

remove_cgroup() {
  local hierarchy
  for hierarchy in $(hierarchies); do
    [ ! -d "$hierarchy/$1" ] || find "$hierarchy/$1" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done
}

# start NAME CGROUP COMMAND…: in the background, in a session of its own, its output in a log and its pid noted.
start() {
  local what=$1 cgroup=$2; shift 2
  mkdir -p "$run" "$logs"
  (
    echo "$BASHPID" >"$(tracking_root)/$cgroup/system/cgroup.procs"
    exec setsid "$@"
  ) >"$logs/$what.log" 2>&1 </dev/null 9>&- &
  echo $! >"$run/$what.pid"
  disown # or bash announces its end
}

# The pid noted for NAME, if that process still is one of the CGROUP's.
pid_of() {
  local pid
  [ -e "$run/$1.pid" ] || return 1
  pid=$(cat "$run/$1.pid")
  grep -qx "$pid" "$(tracking_root)/$2/system/cgroup.procs" 2>/dev/null && echo "$pid"
}
