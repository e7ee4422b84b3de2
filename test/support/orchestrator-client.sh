#!/bin/bash
# A stand-in for the client of orchestrator's users: it calls as that calls, with curl and jq, and prints what that prints.
# usage: orchestrator-client -c COMMAND [-i SERVER] [-d SERVER] [-a ALIAS] [-t TAG] [-o OWNER] [-r REASON] [-u DURATION]
#        [-R RULE] [-l POOL] [-q QUERY] [-P PATH] [-s TEXT] [-H HOST] [-n BINLOG] [-S SECONDS] [-b USER:PASSWORD]
set -u
while getopts 'c:i:d:a:t:o:r:u:R:l:q:P:s:H:n:S:b:' option; do
  case $option in
  c) command=${OPTARG/slave/replica} ;;
  i) instance=$OPTARG ;;
  d) destination=$OPTARG ;;
  a) instance=$OPTARG ;;
  t) tag=$OPTARG ;;
  o) owner=$OPTARG ;;
  r) reason=$OPTARG ;;
  u) duration=$OPTARG ;;
  R) rule=$OPTARG ;;
  l) pool=$OPTARG ;;
  q) query=$OPTARG ;;
  P) path=$OPTARG ;;
  s) text=$OPTARG ;;
  H) host=$OPTARG ;;
  n) binlog=$OPTARG ;;
  S) seconds=$OPTARG ;;
  b) login=$OPTARG ;;
  *) exit 2 ;;
  esac
done
hint=${instance:-}
login=${login:-${ORCHESTRATOR_AUTH_USER:-}:${ORCHESTRATOR_AUTH_PASSWORD:-}}
call=(curl -s)
[ "$login" = : ] || call+=(--basic --user "$login")

# The address to ask: the only one that was given; of several the first that leads, else the first through which the leader is reached.
read -ra addresses <<<"${ORCHESTRATOR_API:-http://localhost:3000}"
for at in "${!addresses[@]}"; do
  addresses[at]=${addresses[at]%/}
  [[ ${addresses[at]} == */api ]] || addresses[at]+=/api
done
base=
[ ${#addresses[@]} -gt 1 ] || base=${addresses[0]}
for check in leader-check routed-leader-check; do
  for address in "${addresses[@]}"; do
    [ -n "$base" ] || [ "$("${call[@]}" -m 1 -o /dev/null -w '%{http_code}' "$address/$check")" != 200 ] || base=$address
  done
done
[ -n "$base" ] || { echo "Cannot determine leader from ${addresses[*]}" >&2; exit 1; }

# host:port as host/port; the port of MySQL where none is named.
slashed() {
  [ -z "$1" ] && return
  if [[ $1 == *:* ]]; then echo "${1/://}"; else echo "$1/3306"; fi
}

# With the line feed that is encoded too.
encoded() { echo "$1" | jq -sRr @uri; }

# The body of a call. What is no JSON is asked for again, as long as orchestrator's client does.
ask() {
  local wait
  "${call[@]}" --head "$base" >/dev/null
  "${call[@]}" --head "$base" >/dev/null
  for wait in 0.1 0.2 0.5 1 2 2.5 5 0; do
    body=$("${call[@]}" "$base/$1" | jq .) && [ -n "$body" ] && break
    sleep $wait
  done
  [ -z "$body" ] && echo "nothing at $base/$1 is JSON" >&2 && exit 1
  if [ "$(jq -r 'if type == "object" then .Code // "" else "" end' <<<"$body")" = ERROR ]; then
    jq -r .Message <<<"$body" | tr -d "'" | xargs >&2 echo
    [ "$(jq -c .Details <<<"$body")" != null ] && jq -c .Details <<<"$body"
    exit 1
  fi
}

# Only what raft leads is asked further.
raft() { ask raft-state && [ "$(jq -r . <<<"$body")" = Leader ] || { echo 'Cannot determine raft state' >&2; exit 1; }; }

print() { jq -r "def key: .Hostname + \":\" + (.Port | tostring); $1" <<<"$body"; }
at=$(slashed "$hint")
to=$(slashed "${destination:-}")

case $command in
help) sed -n '2,5s/^# //p' "$0" ;;
which-api) echo "$base" ;;
api) ask "$path" && print . ;;
clusters) ask clusters-info && print '.[].ClusterName' ;;
clusters-alias) ask clusters-info && print '.[] | .ClusterName + "," + .ClusterAlias' ;;
all-instances) ask all-instances && print '.[].Key | key' ;;
all-clusters-masters) ask masters && print '.[].Key | key' ;;
dominant-dc) ask masters && print '.[].DataCenter' | sort | uniq -c | sort -nr | head -n 1 | awk '{print $2}' ;;
search) ask "search?s=$(encoded "${text:-$hint}")" && print '.[].Key | key' ;;
topology | topology-tabulated | topology-tags) ask "$command/$hint" && print .Details ;;
instance | which-instance) ask "instance/$at" && print '.Key | key' ;;
which-master) ask "instance/$at" && print '.MasterKey | key' ;;
which-replicas) ask "instance-replicas/$at" && print '.[].Key | key' ;;
which-broken-replicas) ask "instance-replicas/$at" && print '.[] | select((.ReplicationSQLThreadRuning and .ReplicationIOThreadRuning | not) and (.LastSQLError != "" or .LastIOError != "")).Key | key' ;;
which-cluster-osc-replicas) ask "cluster-osc-replicas/$hint" && print '.[].Key | key' ;;
which-cluster-osc-running-replicas) ask "cluster-osc-replicas/$hint" && print '.[] | select(.ReplicationSQLThreadRuning and .ReplicationIOThreadRuning).Key | key' ;;
which-gtid-errant) ask "instance/$at" && print .GtidErrant ;;
is-replicating) ask "instance/$at" && print 'select(.ReplicationSQLThreadState == 1 and .ReplicationIOThreadState == 1).Key | key' ;;
is-replication-stopped) ask "instance/$at" && print 'select(.ReplicationSQLThreadState == 0 and .ReplicationIOThreadState == 0).Key | key' ;;
can-replicate-from | can-replicate-from-gtid) ask "$command/$at/$to" && print 'select(.Message | contains("true")).Details | key' ;;
which-cluster) ask "cluster-info/$hint" && print .ClusterName ;;
which-cluster-alias) ask "cluster-info/$hint" && print .ClusterAlias ;;
which-cluster-master) ask "master/$hint" && print .ClusterName ;;
which-cluster-instances) ask "cluster/$hint" && print '.[].Key | key' ;;
downtimed) ask "downtimed/$hint" && print '.[].Key | key' ;;
relocate | repoint | match | move-below | move-equivalent | move-gtid) ask "$command/$at/$to" && print '(.Details.Key | key) + "<" + (.Details.MasterKey | key)' ;;
relocate-replicas | move-replicas-gtid | move-up-replicas | match-up-replicas | repoint-replicas) ask "$command/$at/$to" && print '.Details[].Key | key' ;;
make-co-master | take-master | take-siblings | move-up | match-up) ask "$command/$at" && print '(.Details.Key | key) + "<" + (.Details.MasterKey | key)' ;;
graceful-master-takeover | graceful-master-takeover-auto | force-master-takeover) ask "$command/$hint${to:+/$to}" && print '.Details.SuccessorKey | key' ;;
force-master-failover) ask "$command/$hint" && print '.Details.SuccessorKey | key' ;;
recover) ask "$command/$at${to:+/$to}" && print '.Details | key' ;;
forget) ask "forget/$at" ;;
async-discover) ask "$command/$at" && print '(.Details.Hostname // "") + ":" + (.Details.Port | tostring)' ;;
forget-cluster) ask "forget-cluster/$hint" ;;
tags) ask "tags/$at" && print '.[]' ;;
tag-value) ask "tag-value/$at?tag=$(encoded "$tag")" && print . ;;
tag) ask "tag/$at?tag=$(encoded "$tag")" && print '.Details | key' ;;
untag) ask "untag/$at?tag=$tag" && print '.Details[] | key' ;;
untag-all) ask "untag-all?tag=$tag" && print '.Details[] | key' ;;
tagged) ask "tagged/$at?tag=$(encoded "$tag")" && print '.[] | key' ;;
begin-downtime) ask "begin-downtime/$at/$(encoded "$owner")/$(encoded "$reason")/$duration" && print '.Details | key' ;;
begin-maintenance) ask "begin-maintenance/$at/$(encoded "$owner")/$(encoded "$reason")" && print '.Details | key' ;;
end-downtime | end-maintenance | deregister-hostname-unresolve) ask "$command/$at" && print '.Details | key' ;;
register-hostname-unresolve) ask "$command/$at/$host" && print '.Details | key' ;;
register-candidate) ask "register-candidate/$at/$rule" && print '.Details | key' ;;
replication-analysis) ask replication-analysis && print '.Details[] | (.AnalyzedInstanceKey | key) + " (cluster " + .ClusterDetails.ClusterName + "): " + (if .Analysis == "NoProblem" then .StructureAnalysis[0] else .Analysis end)' ;;
ack-cluster-recoveries) ask "ack-recovery/cluster/$hint?comment=$(encoded "${reason%% *}")" && print .Details ;;
ack-all-recoveries) ask "ack-all-recoveries?comment=$(encoded "${reason%% *}")" && print .Details ;;
submit-pool-instances) ask "submit-pool-instances/$pool?instances=$(encoded "$hint")" && print .Details ;;
which-heuristic-cluster-pool-instances) ask "heuristic-cluster-pool-instances/$hint/${pool:-}" && print '.Details[].Key | key' ;;
submit-masters-to-kv-stores) ask submit-masters-to-kv-stores/ && print '.Details[] | .Key + ":" + .Value' ;;
restart-replica-statements) ask "$command/$at?q=$(encoded "${query:-}")" && print .Details ;;
locate-gtid-errant) ask "$command/$at" && print '.Details[]' ;;
last-pseudo-gtid) ask "$command/$at" && print .Details ;;
delay-replication) ask "$command/$at/$seconds" && print .Details ;;
purge-binary-logs) ask "$command/$at/$binlog" && print '.Details.Key | key' ;;
snapshot-topologies | disable-global-recoveries | enable-global-recoveries | check-global-recoveries) ask "$command" && print .Details ;;
raft-health) ask raft-health && print . ;;
raft-leader) raft && ask raft-leader && print . ;;
raft-leader-hostname) raft && ask status && print .Details.Hostname ;;
raft-elect-leader) raft && ask "raft-yield-hint/$host" && print .Details ;;
*) ask "$command/$at" && print '.Details.Key | key' ;;
esac
