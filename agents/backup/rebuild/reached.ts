import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { moment } from '#common/sentence/moment.ts'
import { withHole, type Plan } from '#backup/restore/restore-plan.ts'
import { counted, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { abbreviated } from '#common/text/words.ts'

/** The result of a rebuild. */
export interface Reached {
  readonly gtids: GtidSet
  /** The commit time of the last replayed transaction; null where none was replayed. */
  readonly lastMs: number | null
}

/** The result where nothing is replayed. */
export function reachedByBackup({ backup }: Plan): Reached {
  return { gtids: GtidSet.parse(backup.gtids), lastMs: null }
}

/** `backup 20261126T031209Z of cluster shop, with 12 transactions behind that, the last of 2026-11-26T03:15:00Z, …`. */
export function describeReached(plan: Plan, reached: Reached): Sentence {
  return withHole(describeTransactions(plan, reached), plan)
}

function describeTransactions({ backup }: Plan, { gtids, lastMs }: Reached): Sentence {
  const { name, cluster } = backup
  const what = say`backup ${name} of cluster ${cluster}`
  if (lastMs === null) return what
  const behind = gtids.subtract(GtidSet.parse(backup.gtids)).count()
  return say`${what}, with ${counted(behind, 'transaction')} behind that, the last of ${moment(lastMs)}, up to ${text(abbreviated(gtids.toString()))}`
}
