# shellcheck shell=bash
# Places, addresses, sizes and deadlines of the cluster on this machine, and the few words that every part of the tool uses.

home=${REGENT_KUBE_HOME:-/var/tmp/regent-kube}
bin=$home/bin         # what `build` makes; stays
images=$home/images   # archives of images, named by a hash of what they were made from; stays
logs=$home/log        # of the last cluster; stays after `down`
run=$home/run         # of the cluster that is up: pids, and what `down` puts back

# Names on this machine (network namespaces, cgroups). Another home gets other names, so that two clusters can be up at once.
name=regent
[ "$home" = /var/tmp/regent-kube ] || name=regent-$(printf %s "$home" | sha256sum | cut -c1-6)

# Addresses inside; nothing outside the cluster's own network namespaces ever sees them.
net=10.89                       # control plane 10.89.0.1, node i 10.89.0.(10+i), its pods 10.89.(10+i).0/24
control_address=$net.0.1
service_range=$net.128.0/20
kubernetes_service=$net.128.1   # the first address of that range
nodes_and_pods=$net.0.0/17
most_nodes=9

# Versions of what `build` fetches; Kubernetes itself: components/go.mod.
coredns_version=v1.14.7
helm_version=v3.22.0

volumes_per_node=20
volume_size=10Gi
node_grace_s=${REGENT_KUBE_NODE_GRACE_S:-20}         # a silent node is NotReady after this; Kubernetes' own default is 50
proxy_mode=${REGENT_KUBE_PROXY_MODE:-nftables}       # or iptables
api_server_deadline_s=60
services_deadline_s=45
node_ready_deadline_s=90
node_boot_deadline_s=20
node_end_deadline_s=10
install_deadline_s=${REGENT_KUBE_INSTALL_DEADLINE_S:-300}
progress_every_s=10

say() { printf 'kube: %s\n' "$*" >&2; }

# Ends the tool with what is wrong and what to do about it.
die() { say "$*"; exit 1; }

in_net() {
  local namespace=$1; shift
  nsenter --net="/run/netns/$name-$namespace" "$@"
}

unmount_below() {
  local mount
  awk -v folder="$1/" 'index($2, folder) == 1 {print $2}' /proc/mounts | sort -r | while read -r mount; do umount --lazy "$mount" || true; done
}

# wait_for SECONDS WHAT COMMAND…: tries the command until it succeeds; fails when time is up. Says now and then that it still waits.
wait_for() {
  local deadline=$((SECONDS + $1)) what=$2 began=$SECONDS said=$SECONDS; shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    if [ $((SECONDS - said)) -ge "$progress_every_s" ]; then said=$SECONDS; say "still waiting for $what, $((SECONDS - began)) s"; fi
    sleep .2
  done
}

# run_long WHAT LOG COMMAND…: runs it with its output in LOG and says now and then how far it is; ends the tool when it fails.
working_pid=
run_long() {
  local what=$1 log=$2 began=$SECONDS said=$SECONDS status=0; shift 2
  mkdir -p "$(dirname "$log")"
  say "$what"
  set -m # a process group of its own, so that all of it can be ended
  ("$@") >"$log" 2>&1 </dev/null 9>&- &
  working_pid=$!
  set +m
  while kill -0 "$working_pid" 2>/dev/null; do
    sleep .2
    [ $((SECONDS - said)) -ge "$progress_every_s" ] || continue
    said=$SECONDS
    say "still $what, $((SECONDS - began)) s: $(tail -n 1 "$log" | cut -c1-100)"
  done
  wait "$working_pid" || status=$?
  working_pid=
  [ "$status" -eq 0 ] || die "$what failed. The end of $log:
$(tail -n 12 "$log")"
}

end_long() {
  [ -n "$working_pid" ] || return 0
  kill -TERM -- "-$working_pid" 2>/dev/null || true
  sleep 1
  kill -KILL -- "-$working_pid" 2>/dev/null || true
  working_pid=
}

# One command at a time changes a home. What is started in the background must not inherit the lock: 9>&-.
lock() {
  mkdir -p "$home"
  exec 9>"$home/lock"
  if flock -n 9; then return; fi
  say "waiting for another command that works in $home"
  flock 9
}
unlock() { exec 9>&-; }
