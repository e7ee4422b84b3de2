import { describeError } from '#common/errors/errors.ts'
import { analysisEntry } from '../analysis/replication-analysis.ts'
import { isSameKey, keyText } from '../documents/key.ts'
import { isReplicating } from '../documents/problems.ts'
import { recoveryDocument } from '../fleet/recovery.ts'
import { headOf, type Cluster, type Server } from '../fleet/fleet.ts'
import { maintenanceOf } from '../fleet/maintenance.ts'
import { ok, refused, type Answer } from './answers.ts'
import { takeMaster as takeMasterPlan } from '../trees/moves.ts'
import { isReplica } from '../trees/checks.ts'
import { recoverCoMaster, recoverIntermediate } from '../trees/recoveries.ts'
import { operate } from './operate.ts'
import { failOver, handOverGracefully, recoverBelow, seenDead, type Recovered } from './leading.ts'
import { lookAt, rearrange, type Seen } from './rearranging.ts'
import type { Call, Route } from './route.ts'

/** The recovery that an operation was, in orchestrator's shape. */
function recoveryOf(call: Call, { name }: Cluster, id: string | undefined) {
  const cluster = call.look().fleet.find((each) => each.name === name)
  const recovery = call.clusters.recoveries(name).find((each) => each.id === id)
  return cluster && recovery ? recoveryDocument(recovery, cluster) : null
}

/**
 * The root of a tree that is only watched. Two servers that follow each other may both take writes, and a server that
 * follows a server elsewhere hands on what is written there: as at orchestrator, neither is taken for the master.
 */
function rootOf(cluster: Cluster): Server | string {
  const root = headOf(cluster)
  const why = `Cannot deduce cluster master for ${cluster.clusterName}`
  if (root === undefined) return why
  const { instance } = root
  if (!isReplica(instance) || instance.IsDetachedMaster) return root
  return `${why}: that one follows ${keyText(instance.MasterKey)}. ${wayFrom(instance)}`
}

function wayFrom({ IsCoMaster, IsLastCheckValid }: Server['instance']): string {
  if (!IsCoMaster) return 'The takeover has to be there'
  return IsLastCheckValid ? 'Call reset-replica for one of the two first' : 'Call recover for the one that is lost'
}

function reasonOf(call: Call, command: string): string {
  return `${command} by ${call.who}`
}

async function takeOver(call: Call, isAuto: boolean): Promise<Answer> {
  const cluster = call.cluster
  if (cluster.isWatched) return call.turns.alone(cluster.name, () => takeOverWatched(call, cluster, isAuto))
  const master = headOf(cluster)
  if (master === undefined) return refused(`Cannot deduce cluster master for ${cluster.clusterName}`)
  const designated = call.other('designated')
  const others = cluster.servers.filter((server) => server !== master)
  if (others.length === 0) return refused(`Master ${textOf(master)} doesn't seem to have replicas`)
  const why = designated === undefined ? whyNotAlone(master, others, isAuto) : whyNotTo(designated, master)
  if (why !== null) return refused(`GracefulMasterTakeover: ${why}`)
  const to = designated?.name ?? (isAuto ? undefined : others[0]?.name)
  const result = await operate(call, cluster, 'switchover', {
    from: master.name,
    to,
    reason: reasonOf(call, 'graceful-master-takeover'),
  })
  await followsAgain(call, master)
  return successor(call, cluster, result.recovery, 'graceful-master-takeover: successor promoted')
}

async function takeOverWatched(call: Call, cluster: Cluster, isAuto: boolean): Promise<Answer> {
  const master = rootOf(cluster)
  if (typeof master === 'string') return refused(master)
  const command = isAuto ? 'graceful-master-takeover-auto' : 'graceful-master-takeover'
  const done = await handOverGracefully(call, master, { wanted: call.other('designated'), isAuto, command })
  return answerOf(call, cluster, done, 'graceful-master-takeover: successor promoted')
}

function whyNotTo(designated: Server, master: Server): string | null {
  if (!followsFrom(designated, master))
    return `indicated designated instance ${textOf(designated)} must be directly replicating from the master ${textOf(master)}`
  return designated.instance.PromotionRule === 'must_not'
    ? `designated instance ${textOf(designated)} cannot be promoted due to promotion rule or it is explicitly ignored in PromotionIgnoreHostnameFilters configuration`
    : null
}

function whyNotAlone(master: Server, others: readonly Server[], isAuto: boolean): string | null {
  return isAuto || others.length === 1
    ? null
    : `target instance not indicated, auto=false, and master ${textOf(master)} has ${others.length} replicas. ` +
        'orchestrator cannot choose where to failover to. Aborting'
}

/** Time in which an old primary turns round: a takeover that is taken back at once would be refused meanwhile. */
const turnsRoundMs = 5_000
const lookAgainMs = 50

async function followsAgain(call: Call, before: Server): Promise<void> {
  await shown(
    call,
    before,
    ({ instance }) => isReplicating(instance) || instance.ReplicationGroupMemberRole === 'SECONDARY',
  )
}

/** What is seen comes a little later than what was done. */
async function shown(call: Call, meant: Server, isSo: (now: Server) => boolean): Promise<void> {
  for (let waitedMs = 0; waitedMs < turnsRoundMs; waitedMs += lookAgainMs) {
    const now = call.look().servers.find((one) => isSameServer(one, meant))
    if (now === undefined || isSo(now)) return
    await call.timers.sleep(lookAgainMs)
  }
}

function isSameServer(one: Server, other: Server): boolean {
  return one.name === other.name && one.cluster.name === other.cluster.name
}

function successor(call: Call, cluster: Cluster, id: string | undefined, message: string): Answer {
  const document = recoveryOf(call, cluster, id)
  return document?.SuccessorKey ? ok(message, document) : refused('graceful-master-takeover: no successor promoted')
}

function textOf({ instance }: Server): string {
  return keyText(instance.Key)
}

/** A member of a group follows the primary without a channel. */
function followsFrom({ instance }: Server, master: Server): boolean {
  return isSameKey(instance.MasterKey, master.instance.Key) || instance.ReplicationGroupMemberRole === 'SECONDARY'
}

function answerOf(call: Call, cluster: Cluster, done: Recovered | string, message: string): Answer {
  return typeof done === 'string' ? refused(done) : ok(message, recoveryOf(call, cluster, done.id))
}

function whyNotForced({ clusterName }: Cluster, { key, instance }: Server, wanted: Server): string | undefined {
  if (instance.IsLastCheckValid && instance.ReadOnly)
    return `Cannot deduce cluster master for ${clusterName}: ${keyText(key)} answers, and takes no writes. graceful-master-takeover is for that`
  return isSameKey(wanted.instance.MasterKey, key)
    ? undefined
    : `You may only promote a direct child of the master ${keyText(key)}. The master of ${textOf(wanted)} is ${keyText(wanted.instance.MasterKey)}.`
}

/** As orchestrator: only a direct child may take over; a root that answers hands over, and is closed first. */
async function forceWatched(call: Call, cluster: Cluster): Promise<Answer> {
  const root = rootOf(cluster)
  if (typeof root === 'string') return refused(root)
  const wanted = call.other('designated')
  const why = wanted && whyNotForced(cluster, root, wanted)
  if (why !== undefined) return refused(why)
  const command = wanted === undefined ? 'force-master-failover' : 'force-master-takeover'
  const done = root.instance.IsLastCheckValid
    ? await handOverGracefully(call, root, { wanted, isAuto: true, command })
    : await failOver(call, root, { wanted, isForced: true, command })
  return answerOf(call, cluster, done, 'Master failed over')
}

/** While the primary answers there is a way on which nothing is lost; otherwise what is proven decides. */
async function forceFailover(call: Call): Promise<Answer> {
  const cluster = call.cluster
  if (cluster.isWatched) return call.turns.alone(cluster.name, () => forceWatched(call, cluster))
  const to = call.other('designated')?.name
  const head = headOf(cluster)
  const result = head?.instance.IsLastCheckValid
    ? await operate(call, cluster, 'switchover', {
        from: head.name,
        to,
        reason: reasonOf(call, 'force-master-failover'),
      })
    : await operate(call, cluster, 'failover', { to })
  const document = recoveryOf(call, cluster, result.recovery)
  return document?.SuccessorKey
    ? ok('Master failed over', document)
    : refused(`Master not failed over: ${result.sentence}`)
}

/** Clients of percona's fork call twice: the second call finds nothing left to do. */
async function recover(call: Call): Promise<Answer> {
  const { server } = call
  const { cluster, instance } = server
  if (maintenanceOf(server) !== undefined) return refused('Recovery not attempted', instance.Key)
  if (cluster.isWatched) return call.turns.alone(cluster.name, () => recoverWatched(call))
  const entry = analysisEntry(server)
  const isLost = headOf(cluster) === server && /^Dead(Co)?Master/.test(entry.Analysis)
  if (!isLost) return refused('Recovery not attempted', instance.Key)
  const to = call.other('candidate')?.name
  try {
    await operate(call, cluster, 'failover', { to })
  } catch (error) {
    return refused(describeError(error), instance.Key)
  }
  const now = call.look().fleet.find(({ name }) => name === cluster.name)
  const promoted = now && headOf(now)
  if (promoted === undefined || promoted.name === server.name)
    return refused('Recovery attempted but no instance promoted', instance.Key)
  return ok(`Recovery executed on ${keyText(instance.Key)}`, promoted.instance.Key)
}

/** Recoveries that a person may ask for, by the codes that orchestrator recovers too. */
const recoveries: readonly (readonly [RegExp, typeof recoverCoMaster])[] = [
  [/^DeadCoMaster/, recoverCoMaster],
  [/^DeadIntermediateMaster(?!AndReplicas)|^AllIntermediateMasterReplicasFailing/, recoverIntermediate],
]

async function recoverWatched(call: Call): Promise<Answer> {
  const { server } = call
  const seen = await lookAt(call, server)
  const code = analysisEntry(call.server).Analysis
  const done = await recoverByCode(call, seen, code)
  if (typeof done === 'string') return refused(`Recovery not attempted${done}`, server.key)
  return ok(`Recovery executed on ${keyText(server.key)}`, done.successor.Key)
}

/** Why not begins with what follows those words. */
async function recoverByCode(call: Call, seen: Seen, code: string): Promise<Recovered | string> {
  const { server } = call
  const because = (done: Recovered | string): Recovered | string => (typeof done === 'string' ? `: ${done}` : done)
  if (/^(Dead|Unreachable)Master(?!AndReplicas|WithoutReplicas)/.test(code)) {
    const [wanted, command] = [call.other('candidate'), 'recover']
    return because(await failOver(call, server, { wanted, isForced: false, command }))
  }
  const [, plan] = recoveries.find(([one]) => one.test(code)) ?? []
  if (plan === undefined) return ''
  // The second of two co-masters is opened for writes, where the first took them: nobody leads beside a living server.
  const isLed = code.includes('CoMaster') && headOf(server.cluster)?.name === server.name
  const now = isLed ? await seenDead(call, server) : seen
  if (typeof now === 'string') return because(now)
  const planned = plan(now.tree, now.one)
  return because(typeof planned === 'string' ? planned : await recoverBelow(call, server, { code, planned, seen: now }))
}

const named = 'A designated server that is not known is refused, where orchestrator would choose another one'

const unable = 'A server that is named and cannot lead is refused: orchestrator lets another one lead then'

const byPerson =
  'done, and never by itself: the master takes no writes before the other one has all its data; what cannot ' +
  `end in time is undone. ${named}. So is one that others could not follow, or that holds what the master ` +
  'has not: without binlogs, with filters, with errant GTIDs, newer than the master, or whose replication ' +
  'stands'

const gracefully = `a switchover: no acknowledged write is lost, and what cannot end in time is undone. ${named}`

const paths = (path: string, tails: readonly string[]): readonly string[] => tails.map((tail) => `${path}/${tail}`)

const takeOvers = (path: string, isAuto: boolean): readonly Route[] =>
  paths(path, [
    ':clusterHint',
    ':host/:port',
    ':clusterHint/:designatedHost/:designatedPort',
    ':host/:port/:designatedHost/:designatedPort',
  ]).map((each) => ({
    path: each,
    does: isAuto ? 'a switchover, to the best replica where none is named' : 'a switchover',
    differs: gracefully,
    watched: byPerson,
    changes: true,
    answer: async (call) => takeOver(call, isAuto),
  }))

const forced =
  'while the primary answers this is a switchover; otherwise a failover that begins only where no ' +
  'acknowledged write is lost. What would lose some is refused: regent failover --accept-loss is for a ' +
  'person'

const failovers: readonly Route[] = [
  ...paths('force-master-failover', [':clusterHint', ':host/:port']),
  ...paths('force-master-takeover', [
    ':clusterHint/:designatedHost/:designatedPort',
    ':host/:port/:designatedHost/:designatedPort',
  ]),
].map((path) => ({
  path,
  does: 'another primary, at once',
  differs: forced,
  watched:
    'a master that answers hands over; of one that is lost a replica leads, once it has got what any other ' +
    `one holds. Refused while nothing proves that it is lost: two would take writes. ${unable}. ` +
    'force-master-takeover is refused while the master answers and takes no writes, as at orchestrator. ' +
    'docs/guide/from-orchestrator.md tells who leads',
  changes: true,
  answer: forceFailover,
}))

const recovers: readonly Route[] = ['recover', 'recover-lite'].flatMap((path) =>
  paths(path, [':host/:port', ':host/:port/:candidateHost/:candidatePort']).map((each) => ({
    path: each,
    does: 'a failover, where that server is a primary that is lost',
    differs:
      'a failover begins by itself within a second; this helps where failover.automatic is off. Replicas mend themselves',
    watched:
      'replicas of an intermediate master that is dead go below a sibling, else one step up; of two co-masters ' +
      'the other one leads alone, detached, once it is proven that the first is lost. Of a root that is lost a ' +
      `replica leads, where failover.acceptLoss of the adoption allows what that may lose. ${unable}. Semi-sync ` +
      'and read_only stay as they are: orchestrator mends these where its settings ask for that',
    changes: true,
    answer: recover,
  })),
)

const takeMaster: Route = {
  path: 'take-master/:host/:port',
  does: 'a switchover to that server',
  differs: gracefully,
  watched:
    'done, with orchestrator’s checks: that server and its source change places. An error where that source ' +
    'is not known: orchestrator does nothing then, and says yes',
  changes: true,
  async answer(call) {
    const { server } = call
    if (server.cluster.isWatched)
      return rearrange(call, { plan: takeMasterPlan, said: (one) => `${one} took its master` })
    const from = headOf(server.cluster)?.name
    await operate(call, server.cluster, 'switchover', { from, to: server.name, reason: reasonOf(call, 'take-master') })
    await shown(call, server, ({ instance: { MasterKey } }) => MasterKey.Hostname === '')
    const { instance } = call.look().server
    return ok(`${keyText(instance.Key)} took its master`, instance)
  },
}

/** What makes another server primary. */
export const recoveringRoutes: readonly Route[] = [
  ...takeOvers('graceful-master-takeover', false),
  ...takeOvers('graceful-master-takeover-auto', true),
  ...failovers,
  ...recovers,
  takeMaster,
]
