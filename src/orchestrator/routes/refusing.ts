import { isSameKey, keyText } from '../documents/key.ts'
import type { Instance } from '../documents/instance.ts'
import { isReplicating } from '../documents/problems.ts'
import type { Server } from '../fleet/fleet.ts'
import { ok, refused, type Answer } from './answers.ts'
import type { Call, Route } from './route.ts'

/** A state that somebody wants of a server: what is so already is answered with yes, anything else is refused. */
interface Wish {
  readonly path: string
  readonly isSo: (instance: Instance, call: Call) => boolean
  readonly yes: string
  /** Why Regent does not do that, and what is to be called in its place. */
  readonly instead: string
}

const never = () => false
const keeps = 'is kept so by its agent'
const durable = 'acknowledgements are what no acknowledged write is lost by'
const seeds = 'a server with errant transactions is seeded again by itself, or told of by regent explain'
const tree =
  'who follows whom is in the record of the cluster; another primary comes with graceful-master-takeover-auto'
const closing =
  'whether a server takes writes is in the record; call graceful-master-takeover-auto, or regent fence to take a server away from clients'
const standing =
  'a replica that stands is started again by its agent; call regent fence to take a server away from clients'

const wishes: readonly Wish[] = [
  {
    path: 'start-replica',
    isSo: isReplicating,
    yes: 'Replica started',
    instead: `replication ${keeps}; regent explain says what is in the way`,
  },
  {
    path: 'restart-replica',
    isSo: isReplicating,
    yes: 'Replica restarted',
    instead: `replication ${keeps}; regent explain says what is in the way`,
  },
  { path: 'stop-replica', isSo: isStopped, yes: 'Replica stopped', instead: standing },
  { path: 'stop-replica-nice', isSo: isStopped, yes: 'Replica stopped nicely', instead: standing },
  {
    path: 'reset-replica',
    isSo: ({ MasterKey }) => MasterKey.Hostname === '',
    yes: 'Replica reset on',
    instead: `${tree}. Who leaves is forgotten, and removed by the platform`,
  },
  { path: 'detach-replica', isSo: never, yes: '', instead: standing },
  { path: 'detach-replica-master-host', isSo: never, yes: '', instead: standing },
  {
    path: 'reattach-replica',
    isSo: ({ MasterKey }) => MasterKey.Hostname !== '',
    yes: 'Replica reattached',
    instead: tree,
  },
  {
    path: 'reattach-replica-master-host',
    isSo: ({ MasterKey }) => MasterKey.Hostname !== '',
    yes: 'Replica reattached',
    instead: tree,
  },
  {
    path: 'change-master-credentials',
    isSo: never,
    yes: '',
    instead: `the password of replication ${keeps}, and changed by regent`,
  },
  {
    path: 'skip-query',
    isSo: never,
    yes: '',
    instead: `a skipped transaction makes another server of a replica; ${seeds}`,
  },
  { path: 'enable-gtid', isSo: () => true, yes: 'Enabled GTID on', instead: '' },
  { path: 'disable-gtid', isSo: never, yes: '', instead: 'without GTIDs nobody could tell what a replica holds' },
  { path: 'gtid-errant-reset-master', isSo: never, yes: '', instead: seeds },
  { path: 'gtid-errant-inject-empty', isSo: never, yes: '', instead: seeds },
  {
    path: 'enable-semi-sync-master',
    isSo: ({ SemiSyncMasterEnabled }) => SemiSyncMasterEnabled,
    yes: 'master semi-sync set to true',
    instead: `it is on where a primary waits for acknowledgements: ${durable}`,
  },
  {
    path: 'disable-semi-sync-master',
    isSo: ({ SemiSyncMasterEnabled }) => !SemiSyncMasterEnabled,
    yes: 'master semi-sync set to false',
    instead: `${durable}; regent local up --acks 0, or spec.acks, changes that`,
  },
  {
    path: 'enable-semi-sync-replica',
    isSo: ({ SemiSyncReplicaEnabled }) => SemiSyncReplicaEnabled,
    yes: 'replica semi-sync set to true',
    instead: `a replica acknowledges once the record counts it: ${durable}`,
  },
  {
    path: 'disable-semi-sync-replica',
    isSo: ({ SemiSyncReplicaEnabled }) => !SemiSyncReplicaEnabled,
    yes: 'replica semi-sync set to false',
    instead: durable,
  },
  { path: 'set-read-only', isSo: ({ ReadOnly }) => ReadOnly, yes: 'Server set as read-only', instead: closing },
  {
    path: 'set-writeable',
    isSo: ({ ReadOnly, IsLastCheckValid }) => IsLastCheckValid && !ReadOnly,
    yes: 'Server set as writeable',
    instead: closing,
  },
  {
    path: 'flush-binary-logs',
    isSo: never,
    yes: '',
    instead: 'binary logs are rotated and purged by the agent, and archived where a store of backups is given',
  },
]

function isStopped({ ReplicationIOThreadState, ReplicationSQLThreadState }: Instance): boolean {
  return ReplicationIOThreadState === 0 && ReplicationSQLThreadState === 0
}

const wishRoute = ({ path, isSo, yes, instead }: Wish): Route => ({
  path: `${path}/:host/:port`,
  does: yes === '' ? 'refuses' : 'yes where that is so already; otherwise refuses',
  ...(instead !== '' && { differs: instead }),
  changes: true,
  answer(call) {
    const { instance } = call.server
    return isSo(instance, call) ? ok(saidOf(yes, instance), instance) : no(path, call.server, instead)
  },
})

/** Some of orchestrator's sentences end with the server. */
function saidOf(yes: string, { Key }: Instance): string {
  if (/semi-sync|^Server/.test(yes)) return yes
  return yes.endsWith(' on') ? `${yes} ${keyText(Key)}` : `${yes}: ${keyText(Key)}`
}

function no(path: string, { instance, cluster }: Server, instead: string): Answer {
  return refused(`${path}: refused for ${keyText(instance.Key)}, which Regent manages in ${cluster.alias}: ${instead}`)
}

/** Below whom a server is to be moved. */
const movesBelow = [
  'relocate',
  'relocate-below',
  'move-below',
  'move-equivalent',
  'repoint',
  'match',
  'match-below',
  'move-gtid',
  'move-below-gtid',
]
/** One step up, or across. */
const moves = [
  'move-up',
  'match-up',
  'make-co-master',
  'take-siblings',
  'make-master',
  'make-local-master',
  'regroup-replicas',
  'regroup-replicas-gtid',
  'regroup-replicas-bls',
  'regroup-replicas-pgtid',
]
const replicasMove = [
  'relocate-replicas',
  'move-replicas-gtid',
  'match-replicas',
  'match-up-replicas',
  'move-up-replicas',
  'repoint-replicas',
]

const stays = 'yes where the tree is so already; otherwise refuses'

const relocations: readonly Route[] = movesBelow.map((path) => ({
  path: `${path}/:host/:port/:belowHost/:belowPort`,
  does: stays,
  differs: tree,
  changes: true,
  answer(call) {
    const { server } = call
    const other = call.other('below')
    return other !== undefined && isSameKey(server.instance.MasterKey, other.instance.Key)
      ? ok(`Instance ${keyText(server.instance.Key)} relocated below ${keyText(other.instance.Key)}`, server.instance)
      : no(path, server, tree)
  },
}))

const movements: readonly Route[] = moves.map((path) => ({
  path: `${path}/:host/:port`,
  does: 'refuses',
  differs: tree,
  changes: true,
  answer: (call) => no(path, call.server, tree),
}))

/** Without replicas there is nobody to move. */
function moveReplicas(path: string, call: Call): Answer {
  const { server } = call
  call.other('below')
  const replicas = server.instance.Replicas
  return replicas.length === 0
    ? ok(`Relocated 0 replicas of ${keyText(server.instance.Key)}; 0 errors: []`, [])
    : no(path, server, tree)
}

const replicaMovements: readonly Route[] = replicasMove.flatMap((path) =>
  [`${path}/:host/:port`, `${path}/:host/:port/:belowHost/:belowPort`].map((each) => ({
    path: each,
    does: 'yes where a server has no replicas; otherwise refuses',
    differs: tree,
    changes: true as const,
    answer: (call: Call) => moveReplicas(path, call),
  })),
)

const refusedAt = (path: string, does: string, instead: string): Route => ({
  path,
  does,
  differs: instead,
  changes: true,
  answer: (call) => no(path.split('/')[0] ?? '', call.server, instead),
})

/** Of orchestrator's own agents, and of the figures of its polls. */
const gone: readonly string[] = [
  'agents',
  'agent/:host',
  'agent-umount/:host',
  'agent-mount/:host',
  'agent-create-snapshot/:host',
  'agent-removelv/:host',
  'agent-mysql-stop/:host',
  'agent-mysql-start/:host',
  'agent-seed/:targetHost/:sourceHost',
  'agent-active-seeds/:host',
  'agent-recent-seeds/:host',
  'agent-seed-details/:seedId',
  'agent-seed-states/:seedId',
  'agent-abort-seed/:seedId',
  'agent-custom-command/:host/:command',
  'seeds',
  'discovery-metrics-raw/:seconds',
  'discovery-metrics-aggregated/:seconds',
  'discovery-queue-metrics-raw/:seconds',
  'discovery-queue-metrics-aggregated/:seconds',
  'discovery-queue-metrics-raw/:queue/:seconds',
  'discovery-queue-metrics-aggregated/:queue/:seconds',
  'backend-query-metrics-raw/:seconds',
  'backend-query-metrics-aggregated/:seconds',
  'write-buffer-metrics-raw/:seconds',
  'write-buffer-metrics-aggregated/:seconds',
]

export const refusingRoutes: readonly Route[] = [
  ...wishes.map(wishRoute),
  ...relocations,
  ...movements,
  ...replicaMovements,
  {
    path: 'locate-gtid-errant/:host/:port',
    does: 'an empty list where there is nothing errant; otherwise refuses',
    differs: seeds,
    answer: (call) =>
      call.server.instance.GtidErrant === ''
        ? ok('located errant GTID', [])
        : no('locate-gtid-errant', call.server, seeds),
  },
  refusedAt(
    'master-equivalent/:host/:port/:logFile/:logPos',
    'refuses',
    'places in binary logs are compared by GTIDs alone',
  ),
  refusedAt(
    'purge-binary-logs/:host/:port/:logFile',
    'refuses',
    'binary logs are purged by the agent, once nobody needs them',
  ),
  refusedAt(
    'delay-replication/:host/:port/:seconds',
    'refuses',
    'a delayed replica could not take over; the delay is lifted by its agent',
  ),
  refusedAt(
    'kill-query/:host/:port/:process',
    'refuses',
    'sessions are ended by switchovers and by regent fence alone; use KILL in MySQL',
  ),
  refusedAt(
    'restart-replica-statements/:host/:port',
    'refuses',
    'statements that change replication are undone by the agent',
  ),
  refusedAt('register-hostname-unresolve/:host/:port/:virtualname', 'refuses', 'names are those that agents say'),
  refusedAt('deregister-hostname-unresolve/:host/:port', 'refuses', 'names are those that agents say'),
  {
    path: 'end-maintenance/:maintenanceKey',
    does: 'refuses',
    differs: 'a downtime has no number',
    answer: () => refused('end-maintenance: name the server instead: end-maintenance/host/port'),
  },
  ...gone.map((path) => ({
    path,
    does: 'refuses',
    differs: 'agents of Regent are others, and tell of themselves in /metrics, regent explain and regent backup',
    answer: () => refused(`${path.split('/')[0]}: not supported; see regent explain, and /metrics of the manager`),
  })),
]
