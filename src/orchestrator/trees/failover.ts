import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Instance } from '../documents/instance.ts'
import { keyText } from '../documents/key.ts'
import { comparePlaces, errantBeside, held, isOrphan, livingBelow, ruleRank, whyNoCandidate } from './candidates.ts'
import { canMoveByGtids, whyNotByGtids, whyNotFrom } from './checks.ts'
import type { Change, Step } from './step.ts'
import { masterOf, replicasOf, type Tree } from './tree.ts'

/** The change by which a successor leads, and the servers that cannot follow it. */
export interface PlannedLead extends Change {
  readonly undo: readonly Step[]
  readonly successor: Instance
  readonly lost: readonly Instance[]
}

/** The replica applies what it has received as soon as it can. */
function applies({ ReplicationSQLThreadState, SQLDelay }: Instance): boolean {
  return ReplicationSQLThreadState === 1 && SQLDelay === 0
}

/** Receivers that have given up: from 8.4 on after ten attempts. They try again, and so tell whether it is lost. */
export function tryAgain(tree: Tree, lost: Instance): readonly Step[] {
  return replicasOf(tree, lost)
    .filter((one) => one.IsLastCheckValid && one.ReplicationIOThreadState === 0)
    .filter((one) => /connecting to (?:source|master)/i.test(one.LastIOError))
    .map(({ InstanceAlias: at }) => ({ do: 'startReceiving', at }))
}

/**
 * Nobody receives any more from who is lost, whatever comes back there, and what was received is applied. Then it is
 * known what everybody holds.
 */
export function standStill(tree: Tree, lost: Instance): Change & Pick<PlannedLead, 'undo'> {
  const living = livingBelow(tree, lost)
  const cut = living.filter((one) => isOrphan(tree, one, lost) && one.ReplicationIOThreadState !== 0)
  return {
    steps: [
      ...cut.map(({ InstanceAlias: at }) => ({ do: 'stopReceiving', at }) as const),
      ...living.filter(applies).map(({ InstanceAlias: at }) => ({ do: 'drain', at }) as const),
    ],
    undo: cut.map(({ InstanceAlias: at }) => ({ do: 'startReceiving', at }) as const),
  }
}

/** Before anything is done: whether there is anybody who could. */
export function whyNobodyLeads(tree: Tree, lost: Instance, wanted: Instance | undefined): string | undefined {
  const living = livingBelow(tree, lost)
  if (wanted !== undefined && !living.includes(wanted))
    return `${keyText(wanted.Key)} does not replicate from ${keyText(lost.Key)}, or does not answer`
  const whys = (wanted === undefined ? living : [wanted]).map((one) => whyNoCandidate(one, lost, living))
  return whys.includes(undefined) ? undefined : (whys[0] ?? `No replicas found for ${keyText(lost.Key)}`)
}

/**
 * The successor in a tree that stands still, after it has got whatever any other server has. Preferred servers are
 * chosen first, then those that hold most.
 */
export function leadInstead(
  tree: Tree,
  lost: Instance,
  { wanted, undo }: { readonly wanted: Instance | undefined; readonly undo: readonly Step[] },
): PlannedLead | string {
  const nobody = whyNobodyLeads(tree, lost, wanted)
  if (nobody !== undefined) return nobody
  const living = livingBelow(tree, lost)
  const candidates = wanted === undefined ? ranked(living, lost) : [wanted]
  const whys: string[] = []
  for (const one of candidates) {
    const planned =
      whyNoCandidate(one, lost, living) ??
      (one.UsingOracleGTID ? leadByGtids(tree, lost, one) : leadByPlaces(tree, lost, one))
    if (typeof planned !== 'string') return { ...planned, undo: [...planned.undo, ...undo] }
    whys.push(planned)
  }
  return whys.join('; ')
}

function ranked(living: Tree, lost: Instance): Tree {
  const union = (sets: readonly GtidSet[]): GtidSet => sets.reduce((sum, one) => sum.union(one), GtidSet.empty)
  const wanted = union(living.map(held)).subtract(union(living.map((one) => errantBeside(one, lost))))
  const lacks = (one: Instance): number => wanted.subtract(held(one)).count()
  return living.toSorted(
    (one, other) =>
      ruleRank(one) - ruleRank(other) ||
      lacks(one) - lacks(other) ||
      comparePlaces(other.ExecBinlogCoordinates, one.ExecBinlogCoordinates),
  )
}

function leadByGtids(tree: Tree, lost: Instance, one: Instance): PlannedLead | string {
  const { InstanceAlias: at } = one
  const living = livingBelow(tree, lost)
  const gathered = gather(living, lost, one)
  if (typeof gathered === 'string') return gathered
  const orphans = living.filter((each) => each !== one && isOrphan(tree, each, lost))
  const able = orphans.filter((each) => canFollow(each, one, gathered.holds))
  return {
    steps: [
      ...gathered.steps,
      { do: 'absent', at: lost.InstanceAlias },
      { do: 'lead', at },
      ...able.flatMap((each) => followSteps(each, at)),
    ],
    undo: [{ do: 'start', at }],
    successor: one,
    lost: orphans.filter((each) => !able.includes(each)),
  }
}

/** From each that holds more, one after the other. */
function gather(
  living: Tree,
  lost: Instance,
  one: Instance,
): { readonly steps: readonly Step[]; readonly holds: GtidSet } | string {
  const { InstanceAlias: at } = one
  const steps: Step[] = []
  let holds = held(one)
  for (const other of living.toSorted((a, b) => held(b).count() - held(a).count())) {
    const more = held(other).subtract(holds)
    if (more.isEmpty()) continue
    const errant = more.intersect(errantBeside(other, lost))
    // What nobody else has ever had is no write of the cluster: it stays where it is.
    if (errant.equals(more)) continue
    const why = whyNotGather(one, other, errant)
    if (why !== undefined) return why
    steps.push(
      { do: 'stop', at },
      { do: 'follow', at, source: { instance: other.InstanceAlias }, from: 'gtids' },
      { do: 'start', at },
      { do: 'catchUp', at, with: other.InstanceAlias },
    )
    holds = holds.union(held(other))
  }
  return { steps, holds }
}

function whyNotGather(one: Instance, other: Instance, errant: GtidSet): string | undefined {
  const [key, from] = [keyText(one.Key), keyText(other.Key)]
  const why = errant.isEmpty()
    ? (whyNotFrom(one, other) ?? whyNotByGtids(one, other))
    : `${from} has errant GTID ${errant.toString()} beside: call gtid-errant-reset-master first`
  return why && `${from} holds what ${key} has not, and ${key} cannot get that: ${why}`
}

/** By GTIDs, with nothing that the new source has not, and nothing received that would be thrown away. */
function canFollow(one: Instance, source: Instance, holds: GtidSet): boolean {
  return (
    one.ReplicationSQLThreadState === 1 &&
    canMoveByGtids(one, source) &&
    whyNotFrom(one, source) === undefined &&
    whyNotByGtids(one, source) === undefined &&
    holds.contains(held(one))
  )
}

function followSteps(one: Instance, source: string): readonly Step[] {
  const { InstanceAlias: at } = one
  return [
    // A delayed replica has perhaps received what nobody has applied.
    ...(applies(one) ? [] : [{ do: 'covers', at: source, with: at } as const]),
    { do: 'stop', at },
    { do: 'follow', at, source: { instance: source }, from: 'gtids' },
    { do: 'start', at },
  ]
}

/** Places of one binlog are compared: nobody can be given what is lacking, so only who is as far goes below. */
function leadByPlaces(tree: Tree, lost: Instance, one: Instance): PlannedLead | string {
  const { InstanceAlias: at } = one
  const direct = livingBelow(tree, lost).filter((each) => masterOf(tree, each) === lost)
  if (!direct.includes(one)) return `${keyText(one.Key)} does not replicate from ${keyText(lost.Key)} itself`
  const place = one.ExecBinlogCoordinates
  const ahead = direct.find((each) => comparePlaces(each.ExecBinlogCoordinates, place) > 0)
  if (ahead !== undefined) return `${keyText(ahead.Key)} holds what ${keyText(one.Key)} has not`
  const equal = direct.filter(
    (each) =>
      each !== one &&
      applies(each) &&
      comparePlaces(each.ExecBinlogCoordinates, place) === 0 &&
      whyNotFrom(each, one) === undefined,
  )
  const touched = [one, ...equal].map((each) => each.InstanceAlias)
  const starts = touched.map((each) => ({ do: 'start', at: each }) as const)
  return {
    steps: [
      ...touched.map((each) => ({ do: 'stop', at: each }) as const),
      ...equal.map(
        (each) => ({ do: 'follow', at: each.InstanceAlias, source: { instance: at }, from: { endOf: at } }) as const,
      ),
      { do: 'absent', at: lost.InstanceAlias },
      { do: 'lead', at },
      ...starts.slice(1),
    ],
    undo: starts,
    successor: one,
    lost: direct.filter((each) => each !== one && !equal.includes(each)),
  }
}

/** How many transactions of who is lost nobody else has; null where that is not known. */
export function countLost(tree: Tree, lost: Instance): number | null {
  if (lost.ServerUUID === '' || !lost.SupportsOracleGTID) return null
  const kept = livingBelow(tree, lost).reduce((sum, one) => sum.union(held(one)), GtidSet.empty)
  return held(lost).subtract(kept).count()
}
