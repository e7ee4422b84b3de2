# shellcheck shell=bash
# etcd, the API server, the controllers, the scheduler, cluster DNS and a kube-proxy, in a network namespace of their own with a bridge that nodes are plugged into.

components='etcd apiserver controllers scheduler coredns proxy'
kubeconfig=$home/kubeconfig
keys=$home/keys

make_keys() {
  mkdir -p "$keys"
  local names=DNS:localhost,IP:127.0.0.1 name_of address
  for address in $(of_families control | tr , ' ') $(of_families kubernetes | tr , ' '); do names+=,IP:$address; done
  for name_of in kubernetes kubernetes.default kubernetes.default.svc kubernetes.default.svc.cluster.local; do names+=,DNS:$name_of; done
  (
    umask 077
    cd "$keys"
    openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=regent-kube -keyout ca.key -out ca.crt
    openssl genrsa -out accounts.key 2048
    openssl req -newkey rsa:2048 -nodes -subj /CN=kube-apiserver -keyout api.key -out api.csr
    echo "subjectAltName=$names" >api.names
    openssl x509 -req -days 3650 -in api.csr -CA ca.crt -CAkey ca.key -CAcreateserial -extfile api.names -out api.crt
  ) 2>"$logs/keys.log" || die "openssl could not make the keys. The end of $logs/keys.log:
$(tail -n 5 "$logs/keys.log")"
  local token; token=$(openssl rand -hex 16)
  (
    umask 077
    echo "$token,admin,admin,\"system:masters\"" >"$keys/tokens.csv"
    cat >"$kubeconfig" <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: regent, cluster: {server: "https://$(bracketed "$(of_first_family control)"):6443", certificate-authority-data: $(base64 -w0 <"$keys/ca.crt")}}]
users: [{name: admin, user: {token: $token}}]
contexts: [{name: regent, context: {cluster: regent, user: admin}}]
current-context: regent
CONFIG
  )
}

make_control_network() {
  ip netns add "$name-control" || die "the network namespace $name-control cannot be made. Is this a container without CAP_SYS_ADMIN and CAP_NET_ADMIN? Run on the machine itself."
  in_net control ip link set lo up
  # With an address of its own: otherwise it takes the lowest of its ports', and nodes that know the last one talk into the void for a minute.
  in_net control ip link add nodes address 02:00:00:00:00:01 type bridge || die 'no bridge can be made. Is this a container without CAP_NET_ADMIN, or a kernel without bridges (modprobe bridge)?'
  local family
  for family in $families; do add_address control "$family" "$(control_with_prefix "$family")" nodes; done
  in_net control ip link set nodes up
  route_services control
}

control_with_prefix() { case $1 in ipv4) echo "$control_ipv4/24" ;; ipv6) echo "$control_ipv6/64" ;; esac; }

# kube-proxy's rules only see a packet that has a route, and nothing else here has one to Services.
route_services() {
  local family range
  in_net "$1" ip link add services type bridge
  in_net "$1" ip link set services up
  for family in $families; do
    range=services_$family
    in_net "$1" ip "-${family#ipv}" route add "${!range}" dev services
    case $family in
      ipv4) in_net "$1" sysctl -qw net.ipv4.ip_forward=1 ;;
      ipv6) in_net "$1" sysctl -qw net.ipv6.conf.all.forwarding=1 ;;
    esac
  done
}

proxy_command() {
  command=("$bin/kube-proxy" --kubeconfig "$kubeconfig" --proxy-mode "$proxy_mode" --hostname-override "$1" --cluster-cidr "$(of_families nodes_and_pods)"
    --conntrack-max-per-core 0 --conntrack-tcp-timeout-established 0 --conntrack-tcp-timeout-close-wait 0)
}

# Sets `command`. The API server keeps the admission plugins it has by default; etcd does without fsync, as nothing here must outlive the machine.
component_command() {
  case $1 in
    etcd)
      command=("$bin/etcd" --data-dir "$home/etcd" --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379
        --listen-peer-urls http://127.0.0.1:2380 --unsafe-no-fsync --log-level warn) ;;
    apiserver)
      command=("$bin/kube-apiserver" --etcd-servers http://127.0.0.1:2379 --advertise-address "$(of_first_family control)"
        --service-cluster-ip-range "$(of_families services)"
        --tls-cert-file "$keys/api.crt" --tls-private-key-file "$keys/api.key" --client-ca-file "$keys/ca.crt" --token-auth-file "$keys/tokens.csv"
        --kubelet-preferred-address-types InternalIP --authorization-mode Node,RBAC --allow-privileged
        --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$keys/accounts.key" --service-account-signing-key-file "$keys/accounts.key") ;;
    controllers)
      command=("$bin/kube-controller-manager" --kubeconfig "$kubeconfig" --leader-elect=false --root-ca-file "$keys/ca.crt"
        --service-account-private-key-file "$keys/accounts.key" --use-service-account-credentials --node-monitor-grace-period "${node_grace_s}s") ;;
    scheduler) command=("$bin/kube-scheduler" --kubeconfig "$kubeconfig" --leader-elect=false) ;;
    coredns) command=("$bin/coredns" -conf "$home/Corefile") ;;
    proxy) proxy_command control ;;
    *) die "there is no component \"$1\"; there are: $components." ;;
  esac
}

start_component() {
  local command
  component_command "$1"
  start "$1" "$name-control" nsenter --net="/run/netns/$name-control" "${command[@]}"
}

# kube-proxy waits half a minute for the Node it is on, and the control plane is on none: it is shown one until it works.
start_control_proxy() {
  run_inside kubectl create --filename - >/dev/null <<NODE
{apiVersion: v1, kind: Node, metadata: {name: control}, spec: {unschedulable: true}}
NODE
  local address addresses=''
  for address in $(of_families control | tr , ' '); do addresses+=", {\"type\": \"InternalIP\", \"address\": \"$address\"}"; done
  run_inside kubectl patch node control --subresource status --type merge --patch "{\"status\": {\"addresses\": [${addresses#, }]}}" >/dev/null
  start_component proxy
  wait_for "$services_deadline_s" 'addresses of Services' services_answer || die "Services cannot be reached after $services_deadline_s s. The end of $logs/proxy.log:
$(tail -n 5 "$logs/proxy.log" | cut -c1-300)"
  run_inside kubectl delete node control >/dev/null
}

services_answer() { in_net control timeout 1 bash -c "</dev/tcp/$(of_first_family kubernetes)/443"; }

api_server_is_ready() { run_inside kubectl get --raw /readyz; }

# Waits no longer than the process lives.
api_server_answers() { api_server_is_ready || ! pid_of apiserver "$name-control"; }

wait_for_api_server() {
  wait_for "$api_server_deadline_s" 'the API server' api_server_answers && pid_of apiserver "$name-control" >/dev/null ||
    die "the API server did not become ready in $api_server_deadline_s s, or ended. The end of $logs/apiserver.log:
$(tail -n 8 "$logs/apiserver.log" | cut -c1-300)"
}

start_control_plane() {
  make_cgroup "$name-control"
  make_control_network
  make_keys
  printf '.:53 {\n bind %s\n kubernetes cluster.local in-addr.arpa ip6.arpa {\n  kubeconfig %s\n  ttl 5\n }\n cache 5\n errors\n}\n' \
    "$(of_families control | tr , ' ')" "$kubeconfig" >"$home/Corefile"
  start_component etcd
  start_component apiserver
  wait_for_api_server
  local component
  for component in controllers scheduler coredns; do start_component "$component"; done
  start_control_proxy
}

kill_component() {
  need_up
  local command pid
  component_command "$1"
  pid=$(pid_of "$1" "$name-control") || die "$1 does not run. Start it with: npm run kube -- component-start $1"
  kill -KILL "$pid"
  say "$1 is killed (pid $pid); npm run kube -- component-start $1 starts it again"
}

restart_component() {
  need_up
  local command
  component_command "$1"
  ! pid_of "$1" "$name-control" >/dev/null || die "$1 runs already, as pid $(pid_of "$1" "$name-control")."
  case $1 in
    proxy) start_control_proxy ;;
    apiserver) start_component apiserver; wait_for_api_server ;;
    *) start_component "$1" ;;
  esac
  say "$1 runs"
}
