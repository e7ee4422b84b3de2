import { describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Instance } from '../documents/instance.ts'
import { isSameKey, keyText } from '../documents/key.ts'
import { patternOf } from '../documents/pattern.ts'
import type { Cluster, Server } from '../fleet/fleet.ts'
import { maintenanceOf, whyHeld } from '../fleet/maintenance.ts'
import type { IsMeant, PlannedReplicas } from '../trees/moves.ts'
import type { Change, Lock, Planned } from '../trees/step.ts'
import type { Tree } from '../trees/tree.ts'
import { ok, refused, type Answer } from './answers.ts'
import type { Call } from './route.ts'

export const asThere = 'done, with orchestrator’s checks'

/** What is not done at servers of others, and why. */
export function byHand(why: string): string {
  return `Regent only watches that cluster, and does not do this there: please do it manually. ${why}`
}

export const tree =
  'who follows whom is in the record of the cluster; another primary comes with graceful-master-takeover-auto'

/** Says no, and why. */
export function no(path: string, { instance, cluster }: Server, instead: string): Answer {
  const where = cluster.isWatched ? 'in' : 'which Regent manages in'
  return refused(`${path}: refused for ${keyText(instance.Key)}, ${where} ${cluster.alias}: ${instead}`)
}

/** What is done with one server of a cluster that is only watched, or with one and another. */
export interface Rearrangement {
  readonly plan: (tree: Tree, one: Instance, other: Instance) => Planned
  /** What is said then, of the two. */
  readonly said: (one: string, other: string) => string
  /** Why that was in vain, by how the server is afterwards. */
  readonly whyVain?: (one: Instance) => string | undefined
}

/** What is done with each replica of a server. */
export interface ReplicasRearrangement {
  readonly plan: (
    tree: Tree,
    one: Instance,
    other: Instance | undefined,
    isMeant: IsMeant,
  ) => PlannedReplicas | string | undefined
  readonly said: (count: number, one: string, other: string) => string
  /** Scripts are to hear that some stay: who takes the old source away then would cut these off. */
  readonly isAllOrError?: true
}

export interface Seen {
  readonly tree: Tree
  readonly one: Instance
  readonly other: Instance | undefined
  /** When that was so; monotonic. */
  readonly nowMs: number
  /** Which servers have these names. */
  readonly addresses: string
}

/** Looks at the servers, plans, does what is planned, looks again, and answers with how the server is then. */
export async function rearrange(call: Call, wanted: Rearrangement): Promise<Answer> {
  const { server } = call
  return call.turns.inTurn(server.cluster.name, () => carriedOut(call, server, wanted))
}

async function carriedOut(call: Call, server: Server, { plan, said, whyVain }: Rearrangement): Promise<Answer> {
  const { tree, one, other = one } = await lookAt(call, server)
  const planned = unlocked(call, server.cluster.name, plan(tree, one, other))
  if ('why' in planned) return refused(planned.why)
  await handsOf(call).carryOut(server.cluster.name, planned)
  const after = await lookAt(call, server)
  const vain = whyVain?.(after.one)
  return vain === undefined ? ok(said(keyText(one.Key), keyText(other.Key)), after.one) : refused(vain)
}

/** A replica that cannot be moved hinders none of the others. */
export async function rearrangeReplicas(call: Call, wanted: ReplicasRearrangement): Promise<Answer> {
  const { server } = call
  return call.turns.inTurn(server.cluster.name, () => carriedOutForEach(call, server, wanted))
}

async function carriedOutForEach(call: Call, server: Server, wanted: ReplicasRearrangement): Promise<Answer> {
  const { said } = wanted
  const isMatching = patternOf(call.said('pattern'))
  const plan: Moving['plan'] = (tree, one, other) =>
    wanted.plan(tree, one, other, ({ Key }) => isMatching(keyText(Key)))
  const seen = await lookAt(call, server)
  const planned = plan(seen.tree, seen.one, seen.other)
  if (planned === undefined || typeof planned === 'string') return refused(planned ?? '')
  const carryOut = async (change: Change): Promise<void> => handsOf(call).carryOut(server.cluster.name, change)
  const { moved, errors } = await moveEach(call, server, { first: { seen, planned }, plan, carryOut })
  if (planned.length > 0 && moved.length === 0) return refused(`Error on all operations: ${errors.join('; ')}`)
  const after = await lookAt(call, server)
  const text = said(moved.length, keyText(seen.one.Key), keyText((seen.other ?? seen.one).Key))
  const message = [`${text};`, errors.length, `errors: [${errors.join('; ')}]`].join(' ')
  if (wanted.isAllOrError && errors.length > 0) return refused(message)
  return ok(
    message,
    after.tree.filter(({ InstanceAlias }) => moved.includes(InstanceAlias)),
  )
}

interface Plans {
  readonly seen: Seen
  readonly planned: PlannedReplicas | string
}

interface Moving {
  readonly first: Plans & { readonly planned: PlannedReplicas }
  readonly plan: (
    ...seen: readonly [tree: Tree, one: Instance, other: Instance | undefined]
  ) => PlannedReplicas | string | undefined
  readonly carryOut: (change: Change) => Promise<unknown>
}

/** What became of each replica of a server. */
interface Moved {
  readonly moved: readonly string[]
  readonly unmoved: readonly string[]
  readonly errors: readonly string[]
}

/** Each replica of the first plan is moved by a plan that is not old: a person may change the tree meanwhile. */
export async function moveEach(call: Call, server: Server, { first, plan, carryOut }: Moving): Promise<Moved> {
  const done = { moved: [] as string[], unmoved: [] as string[], errors: [] as string[] }
  let newest: Plans = first
  for (const { replica } of first.planned) {
    if (isOld(call, server, newest.seen)) newest = await plannedAnew(call, server, { plan, before: newest.seen })
    const why = await whyFailed(unlocked(call, server.cluster.name, planFor(replica, newest)), carryOut)
    if (why === undefined) done.moved.push(replica.InstanceAlias)
    else {
      done.unmoved.push(replica.InstanceAlias)
      done.errors.push(why)
    }
  }
  return done
}

const planAgesMs = 1_000

/** The plan was made too long ago, or names mean other servers by now. */
function isOld(call: Call, { cluster: { name } }: Server, { nowMs, addresses }: Seen): boolean {
  const now = call.look().wholeFleet.find((each) => each.name === name)
  return now === undefined || now.known.nowMs - nowMs > planAgesMs || addressesIn(now) !== addresses
}

async function plannedAnew(call: Call, server: Server, { plan, before }: Replanning): Promise<Plans> {
  try {
    const seen = await lookAt(call, server)
    return { seen, planned: plan(seen.tree, seen.one, seen.other) ?? 'nothing is planned any more' }
  } catch (error) {
    return { seen: before, planned: describeError(error) }
  }
}

interface Replanning {
  readonly plan: Moving['plan']
  readonly before: Seen
}

function planFor(replica: Instance, { seen: { one }, planned }: Plans): Planned {
  if (typeof planned === 'string') return { why: planned }
  const found = planned.find((each) => isSameKey(each.replica.Key, replica.Key))
  return found?.planned ?? { why: `${keyText(replica.Key)} does not replicate from ${keyText(one.Key)} any more` }
}

/** A plan, unless somebody has in maintenance what would be changed. */
export function unlocked(call: Call, cluster: string, planned: Planned): Planned {
  if ('why' in planned) return planned
  const whys = (planned.locks ?? []).map((lock) => whyLocked(call, cluster, lock))
  const why = whys.find((each) => each !== undefined)
  return why === undefined ? planned : { why }
}

export function whyLocked(call: Call, cluster: string, { at, reason }: Lock): string | undefined {
  const server = clusterNow(call, cluster)?.servers.find(({ name }) => name === at)
  if (server === undefined || maintenanceOf(server) === undefined) return undefined
  return `Cannot begin maintenance on ${keyText(server.key)}: ${whyHeld(server.key, reason)}`
}

/** Does what is planned; gives why that is not done. */
export async function whyFailed(
  planned: Planned,
  carryOut: (change: Change) => Promise<unknown>,
): Promise<string | undefined> {
  if ('why' in planned) return planned.why
  try {
    await carryOut(planned)
    return undefined
  } catch (error) {
    return describeError(error)
  }
}

/**
 * As the servers are at this moment, those too that nobody wants to see. Throws `REGENT_REFUSED` where another server
 * has the name by now: whoever adopts anew may name servers otherwise while a request waits for its turn.
 */
export async function lookAt(call: Call, meant: Server): Promise<Seen> {
  const { name } = meant.cluster
  const sinceMs = clusterNow(call, name)?.known.nowMs ?? -Infinity
  await handsOf(call).lookNow(name)
  const other = call.look().other('below')
  if (other !== undefined && other.cluster.name !== name)
    throw new RegentError('REGENT_REFUSED', say`${keyText(other.key)} is in another cluster: ${other.cluster.alias}`)
  const cluster = clusterNow(call, name)
  if (cluster === undefined) throw isUnwatched(meant)
  const found = foundIn(cluster, meant)
  const tree = cluster.servers.map((server) => seenSince(server, sinceMs))
  const named = (wanted: string | undefined) => tree.find(({ InstanceAlias }) => InstanceAlias === wanted)
  return {
    tree,
    one: named(found.name) ?? found.instance,
    other: named(other?.name),
    nowMs: cluster.known.nowMs,
    addresses: addressesIn(cluster),
  }
}

function isUnwatched({ name, cluster }: Server): RegentError {
  return new RegentError('REGENT_NOT_FOUND', say`${name} of ${cluster.name} is not watched any more`)
}

function foundIn(cluster: Cluster, meant: Server): Server {
  const found = cluster.servers.find(({ name }) => name === meant.name)
  if (found === undefined) throw isUnwatched(meant)
  if (found.host === meant.host && found.port === meant.port) return found
  throw new RegentError('REGENT_REFUSED', say`${meant.name} is another server since ${cluster.name} was adopted anew`)
}

function clusterNow(call: Call, name: string): Cluster | undefined {
  return call.look().wholeFleet.find((each) => each.name === name)
}

/** A server that is slow to answer is known only as it was, perhaps before the change that came last. */
function seenSince({ name, instance, cluster }: Server, sinceMs: number): Instance {
  const { askedMs = Infinity } = cluster.known.watched?.servers[name] ?? {}
  return askedMs < sinceMs ? { ...instance, IsRecentlyChecked: false } : instance
}

function addressesIn({ servers }: Cluster): string {
  return servers.map(({ name, host, port }) => `${name}=${host}:${port}`).join(' ')
}

export function handsOf({ hands }: Call): NonNullable<Call['hands']> {
  if (hands !== undefined) return hands
  throw new RegentError(
    'REGENT_REFUSED',
    say`this manager only shows clusters that are watched: ask the one that watches`,
  )
}
