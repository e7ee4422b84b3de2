import type { Instance } from '../documents/instance.ts'
import { isSameKey, keyText } from '../documents/key.ts'
import {
  canMoveByGtids,
  isReplica,
  whyMember,
  whyNoReplica,
  whyNotByGtids,
  whyNotFrom,
  whyNotMove,
  whyNotSeen,
  type WhyNot,
} from './checks.ts'
import { keepReceived } from './received.ts'
import type { Lock, Planned, Step } from './step.ts'
import { areSiblings, isBelow, masterOf, replicasOf, type Tree } from './tree.ts'

/** Steps unless something is in the way, or somebody has one of those servers in maintenance. */
export function unless(why: WhyNot, steps: () => readonly Step[], locks?: readonly Lock[]): Planned {
  return why === undefined ? { steps: steps(), ...(locks !== undefined && { locks }) } : { why }
}

export function lockOf({ InstanceAlias: at }: Instance, reason: string): Lock {
  return { at, reason }
}

/** Nothing of others has to stand for that: who has GTIDs finds the place alone. */
function belowByGtids(tree: Tree, one: Instance, other: Instance): Planned {
  const why = whyNotSeen(one) ?? whyNotSeen(other) ?? whyNotFrom(one, other) ?? whyNotByGtids(one, other)
  return unless(
    why,
    () => [...keepReceived(tree, one, other), ...followByGtids(one, { instance: other.InstanceAlias })],
    [lockOf(one, `move below ${keyText(other.Key)}`)],
  )
}

export function followByGtids(
  { InstanceAlias: at }: Instance,
  source: Extract<Step, { readonly do: 'follow' }>['source'],
): readonly Step[] {
  return [
    { do: 'stop', at },
    { do: 'follow', at, source, from: 'gtids' },
    { do: 'start', at },
  ]
}

/** Moves one server below another, in whatever way that can be done. */
export function relocate(tree: Tree, one: Instance, other: Instance): Planned {
  const [key, to] = [keyText(one.Key), keyText(other.Key)]
  const member = whyMember(one, 'relocate')
  if (member !== undefined) return { why: member }
  if (isBelow(tree, other, one)) return { why: `relocate: ${to} is a descendant of ${key}` }
  const why = whyNotFrom(one, other)
  if (why !== undefined) return { why: `${key} cannot replicate from ${to}. Reason: ${why}` }
  if (masterOf(tree, one) === other) return repoint(tree, one, other)
  return canMoveByGtids(one, other) ? belowByGtids(tree, one, other) : relocateByPlaces(tree, one, other)
}

/** Moves by one step, where places of one binlog say where the server goes on in the other. */
function relocateByPlaces(tree: Tree, one: Instance, other: Instance): Planned {
  if (areSiblings(one, other) && (!other.IsCoMaster || other.ReadOnly)) return moveBelow(tree, one, other)
  const master = masterOf(tree, one)
  if (master !== undefined && isSameKey(master.MasterKey, other.Key)) return moveUp(tree, one)
  const [key, to] = [keyText(one.Key), keyText(other.Key)]
  return { why: `Relocating ${key} below ${to} turns to be too complex; please do it manually` }
}

/** Below the source of its source. */
export function moveUp(tree: Tree, one: Instance): Planned {
  const early = whyNoReplica(one) ?? whyNotMove(one)
  if (early !== undefined) return { why: early }
  const master = masterOf(tree, one)
  if (master === undefined)
    return { why: `Cannot GetInstanceMaster() for ${keyText(one.Key)}: it is none of this cluster` }
  const gone = whyNoMaster(one, master)
  if (gone !== undefined) return { why: gone }
  if (!isReplica(master)) return { why: `master is not a replica itself: ${keyText(master.Key)}` }
  if (isSameKey(master.MasterKey, one.Key)) return { why: `instance cannot replicate from itself: ${keyText(one.Key)}` }
  const why = whyNotFrom(one, master) ?? whyNotUnderGrandparent(tree, one, master)
  return unless(why, () => upSteps(one, master), [
    lockOf(one, 'move up'),
    lockOf(master, `child ${keyText(one.Key)} moves up`),
  ])
}

function whyNoMaster(one: Instance, master: Instance): WhyNot {
  const why = whyNotSeen(master)
  return why && `Cannot GetInstanceMaster() for ${keyText(one.Key)}: ${why}`
}

/** Where the cluster has that server; a source outside of the cluster is taken as its replica names it. */
function whyNotUnderGrandparent(tree: Tree, one: Instance, master: Instance): WhyNot {
  const top = masterOf(tree, master)
  if (top === undefined || !one.UsingOracleGTID) return undefined
  return whyNotFrom(one, top) ?? whyNotByGtids(one, top)
}

function upSteps(one: Instance, master: Instance): readonly Step[] {
  const [at, above] = [one.InstanceAlias, master.InstanceAlias]
  if (one.UsingOracleGTID) return followByGtids(one, { sourceOf: above })
  return [
    { do: 'stop', at: above },
    { do: 'stop', at },
    { do: 'advance', at, to: { endOf: above } },
    { do: 'follow', at, source: { sourceOf: above }, from: { appliedBy: above } },
    { do: 'start', at: above },
    { do: 'start', at },
  ]
}

/** Below another replica of the same source. */
export function moveBelow(tree: Tree, one: Instance, sibling: Instance): Planned {
  const early = whyMember(one, 'MoveBelow') ?? whyNotMove(one) ?? whyNotMove(sibling)
  if (early !== undefined) return { why: early }
  if (!areSiblings(one, sibling))
    return { why: `instances are not siblings: ${keyText(one.Key)}, ${keyText(sibling.Key)}` }
  if (canMoveByGtids(one, sibling)) return belowByGtids(tree, one, sibling)
  const [at, beside] = [one.InstanceAlias, sibling.InstanceAlias]
  const steps = (): readonly Step[] => [
    { do: 'stop', at },
    { do: 'stop', at: beside },
    { do: 'level', at, with: beside },
    { do: 'follow', at, source: { instance: beside }, from: { endOf: beside } },
    { do: 'start', at: beside },
    { do: 'start', at },
  ]
  return unless(whyNotFrom(one, sibling), steps, [
    lockOf(one, `move below ${keyText(sibling.Key)}`),
    lockOf(sibling, `${keyText(one.Key)} moves below this`),
  ])
}

/** By GTIDs or not at all. */
export function moveBelowByGtids(tree: Tree, one: Instance, other: Instance): Planned {
  const why = whyMember(one, 'move-below-gtid') ?? whyNoReplica(one)
  if (why !== undefined) return { why }
  if (isBelow(tree, other, one))
    return { why: `relocate: ${keyText(other.Key)} is a descendant of ${keyText(one.Key)}` }
  return belowByGtids(tree, one, other)
}

/** Its source is believed to be the same server at another address, or to stand where its old one stood. */
export function repoint(tree: Tree, one: Instance, other: Instance | undefined = masterOf(tree, one)): Planned {
  if (other === undefined) return { why: `Cannot read instance: ${keyText(one.MasterKey)}` }
  return unless(
    whyNotRepoint(tree, one, other),
    () => [...keepReceived(tree, one, other), ...repointSteps(one, other)],
    [lockOf(one, 'repoint')],
  )
}

function whyNotRepoint(tree: Tree, one: Instance, other: Instance): WhyNot {
  const isRing = isBelow(tree, other, one) && masterOf(tree, one) !== other
  return (
    whyNoReplica(one) ??
    whyMember(one, 'repoint') ??
    whyNotSeen(one) ??
    whyNotFrom(one, other) ??
    (isRing ? `repoint: ${keyText(other.Key)} is a descendant of ${keyText(one.Key)}` : undefined) ??
    (one.UsingOracleGTID ? whyNotByGtids(one, other) : undefined)
  )
}

function repointSteps(one: Instance, other: Instance): readonly Step[] {
  const { InstanceAlias: at } = one
  const source = { instance: other.InstanceAlias }
  if (one.UsingOracleGTID) return followByGtids(one, source)
  return [
    { do: 'stop', at },
    { do: 'follow', at, source, from: { appliedBy: at } },
    { do: 'start', at },
  ]
}

/** The server changes places with its source: it follows what its source followed, and its source follows it. */
export function takeMaster(tree: Tree, one: Instance): Planned {
  const master = masterOf(tree, one)
  if (master === undefined) return { why: `Cannot GetInstanceMaster() for ${keyText(one.Key)}: it has no master here` }
  if (master.IsCoMaster) return { why: `${keyText(master.Key)} is co-master. Cannot take it.` }
  const top = masterOf(tree, master)
  const why = whyNotTaken(one, master) ?? (top === undefined ? undefined : whyNotFrom(one, top))
  return unless(why, () => takeSteps(one, master))
}

function whyNotTaken(one: Instance, master: Instance): WhyNot {
  return (
    whyMember(one, 'takeMaster') ??
    whyNotSeen(one) ??
    whyNotSeen(master) ??
    whyNoReplica(master) ??
    whyNotFrom(master, one) ??
    (areByGtids(one, master) ? whyNotByGtids(master, one) : undefined)
  )
}

function areByGtids(one: Instance, other: Instance): boolean {
  return one.UsingOracleGTID && other.UsingOracleGTID
}

function takeSteps(one: Instance, master: Instance): readonly Step[] {
  const [at, above] = [one.InstanceAlias, master.InstanceAlias]
  if (areByGtids(one, master))
    return [
      { do: 'stop', at: above },
      { do: 'start', at },
      { do: 'catchUp', at, with: above },
      ...followByGtids(one, { sourceOf: above }),
      { do: 'follow', at: above, source: { instance: at }, from: 'gtids' },
      { do: 'start', at: above },
    ]
  return [
    { do: 'stop', at: above },
    { do: 'stop', at },
    { do: 'advance', at, to: { endOf: above } },
    { do: 'follow', at, source: { sourceOf: above }, from: { appliedBy: above } },
    { do: 'follow', at: above, source: { instance: at }, from: { endOf: at } },
    { do: 'start', at },
    { do: 'start', at: above },
  ]
}

/** Each replica of a server with the plan for it. */
export type PlannedReplicas = readonly { readonly replica: Instance; readonly planned: Planned }[]

/** Which replicas a person has meant. */
export type IsMeant = (replica: Instance) => boolean

const everybody: IsMeant = () => true

const eachBelow =
  (move: (tree: Tree, one: Instance, other: Instance) => Planned) =>
  (tree: Tree, one: Instance, other: Instance, isMeant = everybody): PlannedReplicas | WhyNot => {
    const replicas = replicasOf(tree, one).filter((replica) => replica !== other && isMeant(replica))
    const above = replicas.find((replica) => isBelow(tree, other, replica))
    if (above !== undefined) return `relocate-replicas: ${keyText(other.Key)} is a descendant of ${keyText(above.Key)}`
    return replicas.map((replica) => ({ replica, planned: move(tree, replica, other) }))
  }

export const relocateReplicas = eachBelow(relocate)
export const moveReplicasByGtids = eachBelow(moveBelowByGtids)

export function moveUpReplicas(tree: Tree, one: Instance, isMeant = everybody): PlannedReplicas | WhyNot {
  const replicas = replicasOf(tree, one).filter(isMeant)
  const above = masterOf(tree, one)
  const why = whyNoReplica(one) ?? whyNotSeen(one) ?? (above && whyNoMaster(one, above))
  return why ?? replicas.map((replica) => ({ replica, planned: moveUp(tree, replica) }))
}

export function repointReplicas(
  tree: Tree,
  one: Instance,
  other: Instance = one,
  isMeant = everybody,
): PlannedReplicas {
  return replicasOf(tree, one)
    .filter((replica) => replica !== other && isMeant(replica))
    .map((replica) => ({ replica, planned: repoint(tree, replica, other) }))
}
