import { keyText } from '../documents/key.ts'
import type { Instance } from '../documents/instance.ts'
import { isReplicating } from '../documents/problems.ts'
import {
  detach,
  errantInject,
  errantReset,
  flushLogs,
  reattach,
  resetReplica,
  restartReplica,
  setReadOnly,
  setSemiSync,
  startReplica,
  stopNicely,
  stopReplica,
} from '../trees/changes.ts'
import { whyNotSeen } from '../trees/checks.ts'
import { ok, refused } from './answers.ts'
import { asThere, byHand, no, rearrange, tree, type Rearrangement } from './rearranging.ts'
import type { Call, Route } from './route.ts'

/** A state that somebody wants of a server: what is so already is answered with yes, anything else is refused. */
interface Wish {
  readonly path: string
  readonly isSo: (instance: Instance, call: Call) => boolean
  readonly yes: string
  /** Why Regent does not do that, and what is to be called in its place. */
  readonly instead: string
  /** What is done where Regent only watches, or why that is refused, too. */
  readonly watched: Rearrangement['plan'] | { readonly why: string }
  /** What a watched server is afterwards, or that was in vain. */
  readonly isThen?: (instance: Instance) => boolean
}

const never = () => false
const keeps = 'is kept so by its agent'
const durable = 'acknowledgements are what no acknowledged write is lost by'
const unread = 'Binlogs of servers of others are not read: mysqlbinlog shows where a GTID is'
const seeds = 'a server with errant transactions is seeded again by itself, or told of by regent explain'
const closing =
  'whether a server takes writes is in the record; call graceful-master-takeover-auto, or regent fence to take a server away from clients'
const standing =
  'a replica that stands is started again by its agent; call regent fence to take a server away from clients'

/** What is otherwise than at orchestrator where Regent only watches. */
const watchedWords: Readonly<Record<string, string>> = {
  'stop-replica-nice':
    'done; refused, and left running, where it does not apply within 20 seconds what it has received, so that ' +
    'nothing goes with its relay logs: a replica that is delayed, or whose SQL thread stands, is stopped by ' +
    'stop-replica',
  'set-read-only': 'super_read_only too, where the version has that',
  'gtid-errant-reset-master':
    'done; the replica is detached until its GTIDs are right again, so that nothing is applied twice. Refused while anybody reads its binlogs, as at orchestrator',
  'gtid-errant-inject-empty': 'done; at most 10000 transactions at once',
}

const wishes: readonly Wish[] = [
  {
    path: 'start-replica',
    isSo: isReplicating,
    yes: 'Replica started',
    instead: `replication ${keeps}; regent explain says what is in the way`,
    watched: startReplica,
    isThen: isReplicating,
  },
  {
    path: 'restart-replica',
    isSo: isReplicating,
    yes: 'Replica restarted',
    instead: `replication ${keeps}; regent explain says what is in the way`,
    watched: restartReplica,
    isThen: isReplicating,
  },
  { path: 'stop-replica', isSo: isStopped, yes: 'Replica stopped', instead: standing, watched: stopReplica },
  {
    path: 'stop-replica-nice',
    isSo: isStopped,
    yes: 'Replica stopped nicely',
    instead: standing,
    watched: stopNicely,
  },
  {
    path: 'reset-replica',
    isSo: ({ MasterKey }) => MasterKey.Hostname === '',
    yes: 'Replica reset on',
    instead: `${tree}. Who leaves is forgotten, and removed by the platform`,
    watched: resetReplica,
  },
  { path: 'detach-replica', isSo: never, yes: 'Replica detached', instead: standing, watched: detach },
  { path: 'detach-replica-master-host', isSo: never, yes: 'Replica detached', instead: standing, watched: detach },
  {
    path: 'reattach-replica',
    isSo: ({ MasterKey }) => MasterKey.Hostname !== '',
    yes: 'Replica reattached',
    instead: tree,
    watched: reattach,
  },
  {
    path: 'reattach-replica-master-host',
    isSo: ({ MasterKey }) => MasterKey.Hostname !== '',
    yes: 'Replica reattached',
    instead: tree,
    watched: reattach,
  },
  {
    path: 'change-master-credentials',
    isSo: never,
    yes: '',
    instead: `the password of replication ${keeps}, and changed by regent`,
    watched: { why: 'The account of replication is told to a server that follows nobody yet, and nobody else' },
  },
  {
    path: 'skip-query',
    isSo: never,
    yes: '',
    instead: `a skipped transaction makes another server of a replica; ${seeds}`,
    watched: { why: 'A skipped transaction makes other data of a replica, and nobody sees that by its GTIDs' },
  },
  {
    path: 'enable-gtid',
    isSo: () => true,
    yes: 'Enabled GTID on',
    instead: 'yes, and no error as at orchestrator: everybody has GTIDs',
    watched: {
      why: 'Replicas that go by places are switched over by their owner: gtid_mode is set on each server first',
    },
  },
  {
    path: 'disable-gtid',
    isSo: never,
    yes: '',
    instead: 'without GTIDs nobody could tell what a replica holds',
    watched: { why: 'Without GTIDs nobody could tell what a replica holds' },
  },
  {
    path: 'gtid-errant-reset-master',
    isSo: never,
    yes: 'Removed errant GTID and issued a RESET MASTER on',
    instead: seeds,
    watched: errantReset,
  },
  {
    path: 'gtid-errant-inject-empty',
    isSo: never,
    yes: 'Have injected empty transactions for',
    instead: seeds,
    watched: errantInject,
  },
  {
    path: 'enable-semi-sync-master',
    isSo: ({ SemiSyncMasterEnabled }) => SemiSyncMasterEnabled,
    yes: 'master semi-sync set to true',
    instead: `it is on where a primary waits for acknowledgements: ${durable}`,
    watched: setSemiSync('source', true),
  },
  {
    path: 'disable-semi-sync-master',
    isSo: ({ SemiSyncMasterEnabled }) => !SemiSyncMasterEnabled,
    yes: 'master semi-sync set to false',
    instead: `${durable}; regent local up --acks 0, or spec.acks, changes that`,
    watched: setSemiSync('source', false),
  },
  {
    path: 'enable-semi-sync-replica',
    isSo: ({ SemiSyncReplicaEnabled }) => SemiSyncReplicaEnabled,
    yes: 'replica semi-sync set to true',
    instead: `a replica acknowledges once the record counts it: ${durable}`,
    watched: setSemiSync('replica', true),
  },
  {
    path: 'disable-semi-sync-replica',
    isSo: ({ SemiSyncReplicaEnabled }) => !SemiSyncReplicaEnabled,
    yes: 'replica semi-sync set to false',
    instead: durable,
    watched: setSemiSync('replica', false),
  },
  {
    path: 'set-read-only',
    isSo: ({ ReadOnly }) => ReadOnly,
    yes: 'Server set as read-only',
    instead: closing,
    watched: setReadOnly(true),
  },
  {
    path: 'set-writeable',
    isSo: ({ ReadOnly, IsLastCheckValid }) => IsLastCheckValid && !ReadOnly,
    yes: 'Server set as writeable',
    instead: closing,
    watched: setReadOnly(false),
  },
  {
    path: 'flush-binary-logs',
    isSo: never,
    yes: 'Binary logs flushed on',
    instead: 'binary logs are rotated and purged by the agent, and archived where a store of backups is given',
    watched: flushLogs,
  },
]

function isStopped({ ReplicationIOThreadState, ReplicationSQLThreadState }: Instance): boolean {
  return ReplicationIOThreadState === 0 && ReplicationSQLThreadState === 0
}

const wishRoute = ({ path, isSo, yes, instead, watched, isThen = () => true }: Wish): Route => ({
  path: `${path}/:host/:port`,
  does: isSo === never ? 'refuses' : 'yes where that is so already; otherwise refuses',
  differs: instead,
  watched: 'why' in watched ? byHand(watched.why) : (watchedWords[path] ?? asThere),
  changes: true,
  answer(call) {
    const { server } = call
    const { instance, cluster } = server
    if (cluster.isWatched)
      return 'why' in watched
        ? no(path, server, byHand(watched.why))
        : rearrange(call, {
            plan: watched,
            said: () => saidOf(yes, instance),
            whyVain: (after) => (isThen(after) ? undefined : 'Replication not running'),
          })
    return isSo(instance, call) ? ok(saidOf(yes, instance), instance) : no(path, server, instead)
  },
})

/** Some of orchestrator's sentences end with the server. */
function saidOf(yes: string, { Key }: Instance): string {
  if (/semi-sync|^Server/.test(yes)) return yes
  return yes.endsWith(' on') ? `${yes} ${keyText(Key)}` : `${yes}: ${keyText(Key)}`
}

/** Why not at servers that Regent manages, and why not at those of others. */
const refusedAt = (path: string, instead: string, why: string): Route => ({
  path,
  does: 'refuses',
  differs: instead,
  watched: byHand(why),
  changes: true,
  answer: (call) => no(path.split('/')[0] ?? '', call.server, call.server.cluster.isWatched ? byHand(why) : instead),
})

/** Servers before MySQL 8.0.22, and MariaDB, know the old word alone. */
function replicaWord(version: string): 'replica' | 'slave' {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number)
  const isNew = major * 10_000 + minor * 100 + patch >= 80_022 && !/mariadb/i.test(version)
  return isNew ? 'replica' : 'slave'
}

/** Nothing is done: statements, as the version has them, for a change of a replica that stands for that. */
function restartStatements(call: Call): readonly string[] {
  const { ReplicationSQLThreadState: sql, ReplicationIOThreadState: io, Version } = call.server.instance
  const threads = [...(io === 1 ? ['io_thread'] : []), ...(sql === 1 ? ['sql_thread'] : [])]
  const query = call.said('query', 'q')
  const word = replicaWord(Version)
  return [
    ...threads.map((thread) => `stop ${word} ${thread};`),
    ...(query === '' ? [] : [`${query.replace(/;?$/, '')};`]),
    ...threads.toReversed().map((thread) => `start ${word} ${thread};`),
  ]
}

/** Routes of orchestrator's own agents, and of the figures of its polls. */
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
  {
    path: 'locate-gtid-errant/:host/:port',
    does: 'an empty list where there is nothing errant; otherwise refuses',
    differs: `${seeds}. Nothing errant is no error, as orchestrator has that: the list is the answer`,
    watched: byHand(unread),
    answer: (call) =>
      call.server.instance.GtidErrant === ''
        ? ok('located errant GTID', [])
        : no('locate-gtid-errant', call.server, call.server.cluster.isWatched ? byHand(unread) : seeds),
  },
  refusedAt(
    'master-equivalent/:host/:port/:logFile/:logPos',
    'places in binary logs are compared by GTIDs alone',
    'Places that are the same in two binlogs are not kept',
  ),
  refusedAt(
    'purge-binary-logs/:host/:port/:logFile',
    'binary logs are purged by the agent, once nobody needs them',
    'Backups and readers that Regent does not know of may need them',
  ),
  refusedAt(
    'delay-replication/:host/:port/:seconds',
    'a delayed replica could not take over; the delay is lifted by its agent',
    'How long a replica is kept behind, and what it then may be needed for, its owner knows',
  ),
  refusedAt(
    'kill-query/:host/:port/:process',
    'sessions are ended by switchovers and by regent fence alone; use KILL in MySQL',
    'Sessions are those of clients; use KILL in MySQL',
  ),
  {
    path: 'restart-replica-statements/:host/:port',
    does: 'refuses',
    differs: 'statements that change replication are undone by the agent',
    watched: asThere,
    answer(call) {
      const { instance, cluster } = call.server
      if (!cluster.isWatched)
        return no(
          'restart-replica-statements',
          call.server,
          'statements that change replication are undone by the agent',
        )
      const why = whyNotSeen(instance)
      return why === undefined ? ok(`statements for: ${keyText(instance.Key)}`, restartStatements(call)) : refused(why)
    },
  },
  ...['register-hostname-unresolve/:host/:port/:virtualname', 'deregister-hostname-unresolve/:host/:port'].map((path) =>
    refusedAt(path, 'names are those that agents say', 'Names are those of the adoption file: alsoKnownAs'),
  ),
  ...gone.map((path) => ({
    path,
    does: 'refuses',
    differs: 'agents of Regent are others, and tell of themselves in /metrics, regent explain and regent backup',
    answer: () => refused(`${path.split('/')[0]}: not supported; see regent explain, and /metrics of the manager`),
  })),
]
