# shellcheck shell=bash
# Regent on the cluster that is up: images into the nodes, the chart into namespace regent, a cluster of three into namespace demo.

install() {
  need_root
  need_up
  lock
  build_images
  unlock
  load_image "$regent_image" "$regent_archive"
  load_image "$mysql_image" "$mysql_archive"
  # Probes come to the first address of a pod.
  local listen=0.0.0.0
  case $families in *ipv6*) listen=:: ;; esac
  run_long 'installing the chart' "$logs/install.log" run_inside helm upgrade --install regent "$root/charts/regent" --namespace regent --create-namespace \
    --set "image.repository=${regent_image%:*}" --set-string "image.tag=${regent_image#*:}" --set "mysql.image=$mysql_image" \
    --set-string "listenAddress=$listen"
  follow "$install_deadline_s" managers_story managers_are_ready "the managers are not ready. Look at them: npm run kube -- exec kubectl -n regent describe pods"
  follow "$install_deadline_s" apply_demo demo_exists "the cluster demo was not accepted. Look at the managers: npm run kube -- exec kubectl -n regent logs deployment/regent"
  follow "$install_deadline_s" demo_story demo_is_ready "the cluster demo is not ready. Look at it: npm run kube -- exec kubectl -n demo describe mysql,pods"
  what_to_try
}

# The name holds a hash of the content, so a node that knows it has it.
load_image() {
  local number missing=no
  for number in $(nodes); do
    ! node_runs "$number" || has_image "$number" "docker.io/library/$1" || missing=yes
  done
  [ "$missing" = no ] || load_archive "$2"
}

# follow SECONDS STORY DONE FAILURE: says what STORY prints whenever that changes, until DONE succeeds; ends the tool with FAILURE when time is up.
follow() {
  local began=$SECONDS story told=
  until "$3"; do
    story=$("$2" 2>&1) || true
    if [ -n "$story" ] && [ "$story" != "$told" ]; then told=$story; say "$story"; fi
    [ $((SECONDS - began)) -lt "$1" ] || die "after $1 s $4"
    sleep 1
  done
}

# A pod that cannot start says why in a container's waiting reason.
managers_story() {
  echo "managers: $(run_inside kubectl --namespace regent get pods --selector app.kubernetes.io/name=regent \
    --output 'jsonpath={range .items[*]}{.metadata.name} {.status.phase} {.status.containerStatuses[*].state.waiting.reason}; {end}')"
}

managers_are_ready() { run_inside kubectl --namespace regent rollout status deployment/regent --timeout 1s >/dev/null 2>&1; }

# Tried again while the webhook does not answer yet.
apply_demo() {
  run_inside kubectl create namespace demo >/dev/null 2>&1 || true
  run_inside kubectl label namespace demo regent --overwrite pod-security.kubernetes.io/enforce=restricted >/dev/null
  run_inside kubectl apply --namespace demo --filename - <<'DEMO'
apiVersion: regent.dev/v1alpha1
kind: MySQLCluster
metadata: {name: demo}
spec: {instances: 3, storage: {size: 1Gi}}
DEMO
}

demo_exists() { run_inside kubectl --namespace demo get mysqlcluster demo >/dev/null 2>&1; }

ready_condition() { run_inside kubectl --namespace demo get mysqlcluster demo --output "jsonpath={.status.conditions[?(@.type==\"Ready\")].$1}"; }

demo_is_ready() { [ "$(ready_condition status 2>/dev/null)" = True ]; }

demo_story() {
  local message; message=$(ready_condition message)
  echo "demo: ${message:-no manager has looked at it yet}"
}

what_to_try() {
  cat <<'TRY'

The cluster demo takes writes. Try:

  npm run kube -- exec kubectl -n demo get mysql
  npm run kube -- exec kubectl -n demo get pods -L regent.dev/role -o wide
  npm run kube -- exec bin/regent topology demo -n demo
  npm run kube -- exec bin/regent switchover demo -n demo
  npm run kube -- exec kubectl -n demo delete pod demo-0 --grace-period 0 --force
  npm run kube -- node-kill n2; npm run kube -- node-start n2
  npm run kube -- cut n3; npm run kube -- mend n3
  npm run kube -- down
TRY
}
