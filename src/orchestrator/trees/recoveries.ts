import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Instance } from '../documents/instance.ts'
import { keyText } from '../documents/key.ts'
import { isReplicating } from '../documents/problems.ts'
import { ruleRank } from './candidates.ts'
import { awaySteps, whyNotDetached } from './changes.ts'
import { whyNotSeen } from './checks.ts'
import { relocateReplicas, type PlannedReplicas } from './moves.ts'
import type { Planned } from './step.ts'
import { areSiblings, masterOf, replicasOf, type Tree } from './tree.ts'

/** Under whom the replicas of a server that is lost go on, and how each gets there. */
export interface PlannedRecovery {
  readonly successor: Instance
  /** What is done at the successor first. */
  readonly first: Planned
  readonly replicas: PlannedReplicas
}

/**
 * Below a sibling that could be chosen as primary, else below the source of the one that is lost: below the first that
 * can take all of them, else the one that can take most.
 */
export function recoverIntermediate(tree: Tree, lost: Instance): PlannedRecovery | string {
  const siblings = tree
    .filter((one) => areSiblings(one, lost) && isFit(one, lost))
    .toSorted((a, b) => ruleRank(a) - ruleRank(b))
  const above = masterOf(tree, lost)
  const ways = [...siblings, ...(above === undefined ? [] : [above])].flatMap((one) => wayBelow(tree, lost, one))
  const [best] = ways.toSorted((one, other) => one.stuck.length - other.stuck.length)
  if (best === undefined) return `nobody could take the replicas of ${keyText(lost.Key)}`
  const { successor, replicas, stuck } = best
  if (stuck.length < replicas.length) return { successor, first: { steps: [] }, replicas }
  return ways[0]?.stuck[0] ?? 'no replica answers'
}

/** How replicas that answer get below a server, and why some do not. */
function wayBelow(tree: Tree, lost: Instance, successor: Instance) {
  const all = relocateReplicas(tree, lost, successor)
  if (typeof all === 'string' || all === undefined) return []
  const replicas = all.filter(({ replica }) => replica.IsLastCheckValid)
  const stuck = replicas.flatMap(({ planned }) => ('why' in planned ? [planned.why] : []))
  return [{ successor, replicas, stuck }]
}

/**
 * What others follow has to get something itself, and as much as the one that is lost: what a filter left out has its
 * GTID all the same, and would never be missed below.
 */
function isFit(one: Instance, lost: Instance): boolean {
  const mayLead = one.LogBinEnabled && one.LogSlaveUpdatesEnabled && one.PromotionRule !== 'must_not'
  const getsAsMuch = isReplicating(one) && one.HasReplicationFilters === lost.HasReplicationFilters
  return mayLead && one.IsLastCheckValid && getsAsMuch
}

/**
 * The living one of two co-masters leads alone. The new leader is kept away from the lost one, which may come back,
 * until a person reattaches it.
 */
export function recoverCoMaster(tree: Tree, lost: Instance): PlannedRecovery | string {
  const successor = masterOf(tree, lost)
  if (successor === undefined) return `could not read info for the co-master of ${keyText(lost.Key)}`
  const why = whyNotSeen(successor) ?? whyHoldsLess(tree, lost, successor)
  if (why !== undefined) return why
  const stays = whyNotDetached(successor)
  if (stays !== undefined) return stays
  const { InstanceAlias: at } = successor
  const all = relocateReplicas(tree, lost, successor)
  if (typeof all === 'string' || all === undefined) return all ?? ''
  const replicas = all.filter(({ replica }) => replica.IsLastCheckValid)
  // What a replica has received, and nobody has applied, goes with its relay logs once it follows somebody else.
  const covers = replicas.map(({ replica }) => ({ do: 'covers', at, with: replica.InstanceAlias }) as const)
  const absent = { do: 'absent', at: lost.InstanceAlias } as const
  return {
    successor,
    // What it has received is applied before its relay logs go, and before clients write.
    first: {
      steps: [
        { do: 'drain', at },
        ...covers,
        absent,
        ...awaySteps(successor),
        absent,
        { do: 'readOnly', at, on: false },
      ],
    },
    replicas,
  }
}

/** Nobody may have got what the one that is to lead has not. */
function whyHoldsLess(tree: Tree, lost: Instance, successor: Instance): string | undefined {
  const held = GtidSet.parse(successor.ExecutedGtidSet)
  const ahead = replicasOf(tree, lost).find(
    (one) => one !== successor && one.IsLastCheckValid && !held.contains(GtidSet.parse(one.ExecutedGtidSet)),
  )
  return (
    ahead &&
    `${keyText(ahead.Key)} holds what ${keyText(successor.Key)} has not: call relocate for ${keyText(successor.Key)} below ${keyText(ahead.Key)} first`
  )
}
