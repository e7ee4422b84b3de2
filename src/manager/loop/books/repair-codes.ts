import { recoveriesKept, type ClusterNotes, type Recovery } from '#failover/protocol/notes.ts'

/** Notices of agents that say what was put right, archived or thrown away, and why. */
const repairs: ReadonlySet<string> = new Set([
  'AccountChangeKilled',
  'AcknowledgementsSet',
  'ArchivesPruned',
  'BinlogOff',
  'BinlogsPurged',
  'ChannelOptionPutRight',
  'ClosedAgain',
  'ConsistencySet',
  'CopyRemoved',
  'EmptyTransactions',
  'ErrantArchived',
  'ForgetfulReplica',
  'GatesSet',
  'GroupAccountSet',
  'GroupMemberExpelled',
  'GroupMemberInError',
  'HungServer',
  'LockedOut',
  'NeedsSupplied',
  'Opened',
  'ReceivedThrownAway',
  'Remembers',
  'ReplicationFilter',
  'RestartedForCopy',
  'RestartedForLock',
  'Seeded',
  'SeedingFailed',
  'SettingPutRight',
  'SinglePrimaryAgain',
  'TailKept',
  'TailTrimmed',
  'UnsettledTail',
  'VolumeFromThePast',
  'WrongSource',
])

export function isRepair(code: string): boolean {
  return repairs.has(code)
}

/** So many repairs among the recoveries that are kept: what is put right every minute drives no failover out. */
const repairsKept = 20

/** With one more, the newest first; one that is filed again stands there once. */
export function filed(recovery: Recovery, before: readonly Recovery[]): readonly Recovery[] {
  let left = repairsKept
  const others = before.filter(({ id }) => id !== recovery.id)
  // What its hooks did is written by whoever runs them.
  const hooks = before.find(({ id }) => id === recovery.id)?.hooks ?? recovery.hooks
  return [hooks === undefined ? recovery : { ...recovery, hooks }, ...others]
    .filter(({ kind }) => kind !== 'repair' || left-- > 0)
    .slice(0, recoveriesKept)
}

export function withRecovery(recovery: Recovery): (notes: ClusterNotes) => ClusterNotes {
  return (notes) => ({ ...notes, recoveries: filed(recovery, notes.recoveries) })
}
