import type { DecisionInput } from '#failover/judge/situation.ts'
import type { BackupsSeen } from '#topology/snapshot/copies.ts'

/**
 * The store of backups as the agent of the primary sees the store. Before that agent has looked, as another one saw the
 * store last: a former primary may be silent for days, and what it saw grows old. Undefined where nobody has looked.
 */
export function storeSeen({ snapshot, record }: Pick<DecisionInput, 'snapshot' | 'record'>): BackupsSeen | undefined {
  const seen = snapshot.instances.flatMap(({ observation }) =>
    observation?.backups === undefined ? [] : [{ member: observation.member, backups: observation.backups }],
  )
  const [latest] = seen.toSorted((one, other) => agoOf(one.backups) - agoOf(other.backups))
  return (seen.find(({ member }) => member === record?.primary) ?? latest)?.backups
}

/** Far more than any look is ago, where no look came to its end. */
function agoOf({ lookedAgoMs }: BackupsSeen): number {
  return lookedAgoMs ?? Number.MAX_SAFE_INTEGER
}
