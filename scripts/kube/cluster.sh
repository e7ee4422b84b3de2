# shellcheck shell=bash
# The cluster as a whole: up, down, status, logs, commands inside it, and volumes.

# A command next to the control plane. What kubectl and Helm remember of a cluster is kept with it: the next one has the same address and other contents.
run_inside() {
  in_net control env KUBECONFIG="$kubeconfig" KUBECACHEDIR="$home/client/kubectl" HELM_CACHE_HOME="$home/client/helm" HELM_CONFIG_HOME="$home/client/helm" \
    HELM_DATA_HOME="$home/client/helm" PATH="$bin:$root/bin:$PATH" "$@"
}

up() {
  local count=${1:-1} number
  case $count in [1-9]) ;; *) die "up takes a number of nodes from 1 to $most_nodes, not \"$count\"." ;; esac
  choose_families
  need_root
  need_programs "$running_needs"
  need_built
  lock
  [ ! -e "$run/up" ] || [ ! -e "/run/netns/$name-control" ] ||
    die "a cluster of $(nodes | wc -l) is up already. Use it (npm run kube -- status), or end it first: npm run kube -- down"
  if has_leftovers; then
    say 'clearing what an earlier cluster left that was not ended by down'
    tear_down
  fi
  mkdir -p "$run" "$logs"
  echo "$families" >"$run/families"
  rm -f "$logs"/{etcd,apiserver,controllers,scheduler,coredns,proxy,keys,n[0-9]*}.log
  unfinished=yes
  note_kernel_settings
  say 'starting the control plane'
  start_control_plane
  for ((number = 1; number <= count; number++)); do
    make_node "$number"
    boot_node "$number"
  done
  for ((number = 1; number <= count; number++)); do
    wait_for "$node_ready_deadline_s" "n$number" node_is_ready "$number" || die "n$number was not Ready after $node_ready_deadline_s s. The end of $logs/n$number-kubelet.log:
$(tail -n 5 "$logs/n$number-kubelet.log" | cut -c1-300)"
  done
  offer_volumes "$count"
  touch "$run/up"
  unfinished=
  say "up: $count node$([ "$count" = 1 ] || echo s) after $SECONDS s. Try: npm run kube -- exec kubectl get nodes -o wide"
}

down() {
  need_root
  lock
  if ! has_leftovers; then say 'nothing is up'; return; fi
  tear_down
  say "down; logs are in $logs, and what was built stays in $home"
}

has_leftovers() { [ -d "$run" ] || [ -e "/run/netns/$name-control" ] || [ -n "$(nodes)" ] || [ -d "$(tracking_root)/$name-control" ]; }

# Needs no notes of what was started: everything has a name of this home.
tear_down() {
  local cgroup number
  for cgroup in $(find "$(tracking_root)" -maxdepth 1 \( -name "$name-n[0-9]*" -o -name "$name-control" \) -printf '%f\n'); do
    end_processes "$cgroup"
    remove_cgroup "$cgroup"
  done
  for number in $(nodes); do ip netns delete "$name-n$number"; done
  [ ! -e "/run/netns/$name-control" ] || ip netns delete "$name-control"
  # Nodes mount in namespaces of their own, which end with them; this is for what a command inside (exec) mounted.
  unmount_below "$home"
  restore_kernel_settings
  rm -rf --one-file-system "$home"/{etcd,keys,kubeconfig,Corefile,client} "$home"/n[0-9]* "$run"
}

# kubelet sets these for the whole machine.
note_kernel_settings() {
  sysctl vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes >"$run/kernel-settings" 2>/dev/null || true
}

restore_kernel_settings() { [ ! -s "$run/kernel-settings" ] || sysctl -q --load="$run/kernel-settings" 2>/dev/null || true; }

# No provisioner: volumes are there beforehand, and bound when a pod is first scheduled.
offer_volumes() {
  local number volume
  {
    cat <<CLASS
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
CLASS
    for ((number = 1; number <= $1; number++)); do
      for ((volume = 0; volume < volumes_per_node; volume++)); do
        mkdir -p "$home/n$number/volumes/v$volume"
        cat <<VOLUME
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: n$number-v$volume}
spec:
  capacity: {storage: $volume_size}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  persistentVolumeReclaimPolicy: Retain
  local: {path: $home/n$number/volumes/v$volume}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n$number]}]}]}}
VOLUME
      done
    done
  } | run_inside kubectl apply --filename - >/dev/null
}

status() {
  need_root
  if [ ! -e "$run/up" ] || [ ! -e "/run/netns/$name-control" ]; then
    if has_leftovers; then echo 'no cluster, but leftovers of one that was not ended by down; up and down clear them'; else echo 'no cluster'; fi
    return
  fi
  local component number
  for component in $components; do printf '%-12s %s\n' "$component" "$(pid_of "$component" "$name-control" || echo 'does not run')"; done
  for number in $(nodes); do printf '%-12s %s\n' "n$number" "$(node_state "$number")"; done
  echo
  run_inside kubectl get nodes,pods --all-namespaces --output wide --request-timeout 5s
}

execute() {
  [ $# -gt 0 ] || die 'exec takes a command, such as: npm run kube -- exec kubectl get pods -A'
  need_root
  need_up
  # kubectl of an earlier build looks for no plugins.
  if [ "$1 ${2:-}" = 'kubectl regent' ]; then shift 2; set -- kubectl-regent "$@"; fi
  run_inside "$@"
}

show_logs() {
  local available
  available=$({ find "$logs" -name '*.log' -printf '%f\n' 2>/dev/null || true; } | sed 's/\.log$//' | sort | tr '\n' ' ')
  [ $# -gt 0 ] || die "logs takes one of: ${available:-(there are none yet)}"
  [ -e "$logs/$1.log" ] || die "there is no log of \"$1\"; there are: $available"
  local file=$logs/$1.log; shift
  tail "${@:---lines=50}" "$file"
}
