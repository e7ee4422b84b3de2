import { regentVersion } from '#common/version.ts'
import { ok, plain, refused } from './answers.ts'
import type { Call, Route } from './route.ts'

const node = (call: Call) => ({
  Hostname: 'regent',
  Token: '',
  AppVersion: regentVersion,
  FirstSeenActive: '',
  LastSeenActive: '',
  ExtraInfo: '',
  Command: 'manager',
  DBBackend: call.clusters.leads ? 'leads' : 'stands by',
})

function health(call: Call) {
  return ok('Application node is healthy', {
    Healthy: true,
    Hostname: 'regent',
    Token: '',
    IsActiveNode: call.clusters.leads,
    ActiveNode: node(call),
    Error: null,
    AvailableNodes: [node(call)],
    RaftLeader: '',
    IsRaftLeader: false,
    RaftLeaderURI: '',
    RaftAdvertise: '',
    RaftHealthyMembers: null,
  })
}

function leaderCheck(call: Call) {
  if (call.clusters.leads) return plain('OK')
  const asked = Number(call.param('errorStatusCode'))
  return plain('Not leader', Number.isInteger(asked) && asked >= 200 && asked <= 599 ? asked : 404)
}

const noRaft = 'managers choose their leader in the store of the records; there is no raft'

/** In orchestrator's words where raft is not set up. */
const raft = (path: string): Route => ({
  path,
  does: 'refuses: not running with raft setup',
  differs: noRaft,
  answer: () => refused(`${path.split('/')[0]}: not running with raft setup`),
})

const nothing = (path: string, message: string, why: string, details: unknown = null): Route => ({
  path,
  does: 'nothing, and says so',
  differs: why,
  answer: () => ok(message, details),
})

const namesAreKept = 'names are those of the agents; nothing is resolved, so nothing is kept'

const reachLeader: Route = {
  path: 'routed-leader-check',
  does: '200 where the manager that leads is reached through this one',
  differs:
    'on Kubernetes each manager hands requests on to the one that leads; of a local cluster, and where trees are watched, only the one that leads says OK',
  answer: leaderCheck,
}

/** What each manager answers by itself, whichever leads. */
const ownRoutes: readonly Route[] = [
  { path: 'health', does: 'this manager runs', answer: health },
  { path: 'status', does: 'as health', answer: health },
  { path: 'lb-check', does: '"OK"', answer: () => plain('OK') },
  { path: '_ping', does: '"OK"', answer: () => plain('OK') },
  { path: 'leader-check', does: '200 where this manager leads, otherwise 404', answer: leaderCheck },
  { path: 'leader-check/:errorStatusCode', does: 'the same with another status', answer: leaderCheck },
  { path: 'headers', does: 'an empty object', differs: 'headers may hold passwords', answer: () => plain({}) },
  ...[
    'raft-state',
    'raft-leader',
    'raft-health',
    'raft-status',
    'raft-peers',
    'raft-snapshot',
    'raft-add-peer/:addr',
    'raft-remove-peer/:addr',
    'raft-yield/:node',
    'raft-yield-hint/:hint',
    'raft-follower-health-report/:authenticationToken/:raftBind/:raftAdvertise',
  ].map(raft),
  {
    path: 'reelect',
    does: 'refuses',
    differs: 'a leader hands over when its process ends; end that manager instead',
    answer: () => refused('reelect: a manager hands the lead over when it ends; stop that process instead'),
  },
  {
    path: 'grab-election',
    does: 'refuses',
    differs: 'two that lead at once would be two truths',
    answer: () => refused('grab-election: a manager leads when the store of the records says so, and never by force'),
  },
]

/** What is asked of the manager itself. */
export const metaRoutes: readonly Route[] = [
  ...ownRoutes.map((route): Route => ({ ...route, ofManager: true })),
  reachLeader,
  nothing('reload-configuration', 'Config reloaded', 'there is no configuration file to read again'),
  nothing(
    'reload-cluster-alias',
    'Cluster alias cache reloaded',
    'aliases are never out of date; orchestrator says that this call is retired',
  ),
  nothing('hostname-resolve-cache', 'Cache retrieved', namesAreKept, {}),
  nothing('reset-hostname-resolve-cache', 'Hostname cache cleared', namesAreKept),
  {
    path: 'resolve/:host/:port',
    does: 'the server that is meant by the name',
    differs: 'names are kept, and nobody is called: whether a server answers is IsLastCheckValid of instance',
    answer: (call) => ok('Instance resolved', call.server.instance.Key),
  },
  {
    path: 'automated-recovery-filters',
    does: 'every cluster is recovered unless paused',
    differs: 'whether a cluster fails over by itself stands in its own spec: failover.automatic',
    answer: () =>
      ok('Automated recovery configuration details', {
        RecoverMasterClusterFilters: ['.*'],
        RecoverIntermediateMasterClusterFilters: ['.*'],
        RecoveryIgnoreHostnameFilters: [],
      }),
  },
  nothing(
    'snapshot-topologies',
    'Topology Snapshot completed',
    'who followed whom stands in the recoveries',
    'Took 0s',
  ),
]
