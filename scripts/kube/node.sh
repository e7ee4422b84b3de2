# shellcheck shell=bash
# A node: a network namespace on the control plane's bridge, and in it containerd, kubelet and kube-proxy with a folder of their own.

# Nodes of the cluster that is up, by number.
nodes() { { find /run/netns -maxdepth 1 -name "$name-n[0-9]*" 2>/dev/null || true; } | sed "s/.*-n//" | sort -n; }

# node_number NAME: the number of a node given as n2 or 2.
node_number() {
  need_up
  local number=${1#n}
  nodes | grep -x -- "$number" >/dev/null || die "there is no node \"$1\"; there are: $(nodes | sed 's/^/n/' | tr '\n' ' ')"
  echo "$number"
}

node_runs() { [ -n "$(processes_of "$name-n$1")" ]; }

make_node() {
  make_cgroup "$name-n$1"
  make_node_network "$1"
  make_node_files "$1"
}

make_node_network() {
  local number=$1 other family
  ip netns add "$name-n$number"
  in_net "n$number" ip link set lo up
  ip link add "v$number" netns "$name-control" type veth peer name eth0 netns "$name-n$number"
  in_net control ip link set "v$number" master nodes
  in_net control ip link set "v$number" up
  for family in $families; do add_address "n$number" "$family" "$(node_with_prefix "$family" "$number")" eth0; done
  in_net "n$number" ip link set eth0 up
  route_services "n$number"
  route_pods control "$number"
  for other in $(nodes); do
    [ "$other" != "$number" ] || continue
    route_pods "n$number" "$other"
    route_pods "n$other" "$number"
  done
}

# route_pods NAMESPACE NODE: pods of that node are reached through it.
route_pods() {
  local family
  for family in $families; do in_net "$1" ip "-${family#ipv}" route add "$(pods_of_node "$family" "$2")" via "$(node_address "$family" "$2")"; done
}

node_with_prefix() { case $1 in ipv4) echo "$(node_address "$@")/24" ;; ipv6) echo "$(node_address "$@")/64" ;; esac; }

make_node_files() {
  local folder=$home/n$1 family place ranges='' routes=''
  for family in $families; do
    place=anywhere_$family
    ranges+=", [{\"subnet\":\"$(pods_of_node "$family" "$1")\"}]"
    routes+=", {\"dst\":\"${!place}\"}"
  done
  mkdir -p "$folder"/{cni,cni-state,kubelet,containerd,volumes,podlogs}
  cat >"$folder/cni/10-pods.conflist" <<CNI
{"cniVersion":"1.0.0","name":"pods","plugins":[
 {"type":"bridge","bridge":"pods","isGateway":true,"ipMasq":false,"hairpinMode":true,
  "ipam":{"type":"host-local","ranges":[${ranges#, }],"routes":[${routes#, }],"dataDir":"$folder/cni-state/addresses"}},
 {"type":"portmap","capabilities":{"portMappings":true}}]}
CNI
  # Lowering oom_score_adj needs CAP_SYS_RESOURCE, which not every machine gives even to root.
  cat >"$folder/containerd.toml" <<TOML
version = 2
root = "$folder/containerd"
state = "/run/containerd"
[grpc]
  address = "$folder/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$folder/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$pause_image"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$folder/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
TOML
  cat >"$folder/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
cgroupRoot: /$name-n$1
failCgroupV1: false
enforceNodeAllocatable: [pods]
containerRuntimeEndpoint: unix://$folder/containerd.sock
clusterDNS: [$(of_first_family control | sed 's/.*/"&"/')]
clusterDomain: cluster.local
resolvConf: ""
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
failSwapOn: false
oomScoreAdj: 0
podLogsDir: $folder/podlogs
volumePluginDir: $folder/kubelet/volume-plugins
nodeStatusUpdateFrequency: 4s
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
YAML
}

# boot_node NUMBER: starts what a node runs and returns when its containerd answers.
boot_node() {
  local number=$1 folder=$home/n$1 command
  cat /proc/sys/kernel/random/uuid >"$folder/boot_id"
  proxy_command "n$number"
  mkdir -p /var/lib/cni # a place to mount on
  start "n$number" "$name-n$number" nsenter --net="/run/netns/$name-n$number" unshare --mount --propagation slave \
    env PATH="$bin:$PATH" NODE="n$number" ADDRESS="$(node_addresses "$number")" FOLDER="$folder" LOGS="$logs" KUBECONFIG="$kubeconfig" bash "$here/node-boot" "${command[@]}"
  wait_for "$node_boot_deadline_s" "containerd of n$number" ctr_on "$number" version || die "containerd of n$number did not answer in $node_boot_deadline_s s. The end of $logs/n$number-containerd.log:
$(tail -n 5 "$logs/n$number-containerd.log" | cut -c1-300)"
  has_image "$number" "$pause_image" || ctr_on "$number" images import "$pause_archive" >/dev/null
}

ctr_on() {
  local number=$1; shift
  ctr --address "$home/n$number/containerd.sock" --namespace k8s.io "$@"
}

has_image() { [ -n "$(ctr_on "$1" images ls -q "name==$2")" ]; }

node_is_ready() { run_inside kubectl wait --for=condition=Ready "node/n$1" --timeout=1s; }

# A power cut: the cable first, as a machine without power sends no goodbye for its connections.
kill_node() {
  local number family; number=$(node_number "$1")
  node_runs "$number" || die "n$number is off already. Boot it with: npm run kube -- node-start n$number"
  in_net control ip link set "v$number" down
  end_processes "$name-n$number"
  for family in $families; do in_net "n$number" conntrack -F -f "$family" >/dev/null 2>&1 || true; done
  say "n$number is without power; npm run kube -- node-start n$number boots it"
}

start_node() {
  local number; number=$(node_number "$1")
  ! node_runs "$number" || die "n$number runs already."
  remove_cgroup "$name-n$number"
  make_cgroup "$name-n$number"
  in_net control ip link set "v$number" up
  boot_node "$number"
  say "n$number boots; it is Ready in a few seconds"
}

cut_node() {
  local number; number=$(node_number "$1")
  in_net control ip link set "v$number" down
  say "n$number is off the network, and what runs on it goes on; npm run kube -- mend n$number puts it back"
}

mend_node() {
  local number; number=$(node_number "$1")
  node_runs "$number" || die "n$number has no power. Boot it with: npm run kube -- node-start n$number"
  in_net control ip link set "v$number" up
  say "n$number is back on the network"
}

# In words, for `status`.
node_state() {
  if ! node_runs "$1"; then echo 'without power'
  elif in_net control ip -o link show "v$1" | grep 'state DOWN' >/dev/null; then echo 'off the network'
  else echo 'on'; fi
}

# load_archive ARCHIVE: a docker or OCI archive into every node that is on.
load_archive() {
  local number
  [ -f "$1" ] || die "there is no file $1. Make one with: buildah push IMAGE docker-archive:FILE:IMAGE, or docker save IMAGE >FILE"
  for number in $(nodes); do
    node_runs "$number" || { say "n$number is off and does not get $(basename "$1")"; continue; }
    say "loading $(basename "$1") into n$number"
    ctr_on "$number" images import "$1" >/dev/null || die "containerd of n$number refused $1; its complaint is above. It takes docker and OCI archives."
  done
}
