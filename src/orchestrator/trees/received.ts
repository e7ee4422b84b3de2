import type { Instance } from '../documents/instance.ts'
import { isReplica } from './checks.ts'
import type { Step } from './step.ts'
import { masterOf, type Tree } from './tree.ts'

/**
 * A replica that is told to follow somebody else throws away what it has received and not applied. Where nobody who
 * answers could send that once more, it is applied before, or the new source has it.
 */
export function keepReceived(tree: Tree, one: Instance, source?: Instance): readonly Step[] {
  if (!isCutOff(tree, one)) return []
  const { InstanceAlias: at, ReplicationSQLThreadState: sql, SQLDelay, UsingOracleGTID } = one
  const appliesSoon = sql === 1 && SQLDelay === 0
  return appliesSoon || source === undefined || !UsingOracleGTID
    ? [{ do: 'drain', at }]
    : [{ do: 'covers', at: source.InstanceAlias, with: at }]
}

/** Nobody above answers. A co-master that is lost wrote what its co-master has perhaps not got. */
function isCutOff(tree: Tree, one: Instance): boolean {
  const master = masterOf(tree, one)
  if (master === undefined) return isReplica(one) && one.ReplicationIOThreadState !== 1
  if (master.IsLastCheckValid) return false
  const others = tree.filter((each) => each !== master)
  return master.IsCoMaster || !isReplica(master) || isCutOff(others, master)
}
