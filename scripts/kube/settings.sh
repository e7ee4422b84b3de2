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

# Addresses inside, by family; nothing outside the cluster's own network namespaces ever sees them.
# shellcheck disable=SC2034
{
  control_ipv4=10.89.0.1 control_ipv6=fd00:10:89::1
  services_ipv4=10.89.128.0/20 services_ipv6=fd00:10:8a::/112
  kubernetes_ipv4=10.89.128.1 kubernetes_ipv6=fd00:10:8a::1 # the first address of those ranges
  nodes_and_pods_ipv4=10.89.0.0/17 nodes_and_pods_ipv6=fd00:10:89::/48
  anywhere_ipv4=0.0.0.0/0 anywhere_ipv6=::/0
}
most_nodes=9

# The families of addresses, the first one being that of pods, and of Services that ask for none: as the cluster that is up was made.
families=ipv4
[ ! -e "$run/families" ] || families=$(cat "$run/families")

# For the next cluster.
choose_families() {
  families=${REGENT_KUBE_FAMILIES:-ipv4}
  families=${families//,/ }
  case $families in
    ipv4 | ipv6 | 'ipv4 ipv6' | 'ipv6 ipv4') ;;
    *) die "REGENT_KUBE_FAMILIES is \"$REGENT_KUBE_FAMILIES\"; allowed are ipv4, ipv6, and both with a comma between, that of pods first: ipv6,ipv4" ;;
  esac
}

# of_families THING: the addresses of `control`, `services` … in every family, with commas between.
of_families() {
  local family all='' place
  for family in $families; do place=$1_$family; all+=,${!place}; done
  echo "${all#,}"
}

# of_first_family THING
of_first_family() { local place=$1_${families%% *}; echo "${!place}"; }

# Node i is at 10.89.0.(10+i), and its pods are in 10.89.(10+i).0/24; in the other family at fd00:10:89::(10+i) and in fd00:10:89:(10+i)::/64, in the same digits.
node_address() { case $1 in ipv4) echo "10.89.0.$((10 + $2))" ;; ipv6) echo "fd00:10:89::$((10 + $2))" ;; esac; }
pods_of_node() { case $1 in ipv4) echo "10.89.$((10 + $2)).0/24" ;; ipv6) echo "fd00:10:89:$((10 + $2))::/64" ;; esac; }

# node_addresses NUMBER: in every family, with commas between.
node_addresses() {
  local family all=''
  for family in $families; do all+=,$(node_address "$family" "$1"); done
  echo "${all#,}"
}

# An address as it stands before a port.
bracketed() { case $1 in *:*) echo "[$1]" ;; *) echo "$1" ;; esac; }

# add_address NAMESPACE FAMILY ADDRESS DEVICE: used at once, as nobody else here can have it.
add_address() {
  local nodad=()
  [ "$2" = ipv4 ] || nodad=(nodad)
  in_net "$1" ip addr add "$3" dev "$4" "${nodad[@]}"
}

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
