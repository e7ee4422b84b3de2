import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import type { Happening } from '../happening.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { heldBy, heldIn, shown } from './held.ts'

/** What clients heard OK for; unproven is what a server said that a stranger stopped. */
export interface Told {
  readonly acknowledged: GtidSet
  readonly unproven: GtidSet
}

/** A folder is given up for another one: what only that folder had is in an archive. */
export function wronglyGivenUp(
  { machines }: SimulatedCluster,
  { machine, gone, instead }: Extract<Happening, { kind: 'gaveUp' }>,
): string | undefined {
  const kept = machines
    .filter((other) => other !== machine)
    .reduce((all, other) => all.union(heldBy(other)), heldIn(instead).union(unionOf(machine.archived)))
  const lost = heldIn(gone).subtract(kept)
  return lost.isEmpty() ? undefined : `${machine.name} gives ${shown(lost)} up, which nobody else and no archive has`
}

/**
 * A tail that clients were told is safe is never cut. What a server said while acknowledgements were switched off by
 * hand is, where that server dies before its agent has seen that (docs/why/safety.md, "What is not covered").
 */
export function wronglyCut(
  { unproven, acknowledged }: Told,
  { machine, tail }: Extract<Happening, { kind: 'cut' }>,
): string | undefined {
  const told = tail.intersect(machine.mysqld?.isLooseByHand ? acknowledged : unproven.union(acknowledged))
  return told.isEmpty() ? undefined : `${machine.name} cuts ${shown(told)} off, which clients were told is safe`
}
