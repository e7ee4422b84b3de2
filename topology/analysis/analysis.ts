import type { Sentence } from '#common/sentence/sentence.ts'
import type { InstanceName } from '../snapshot/member.ts'

export type Severity = 'info' | 'warning' | 'critical'

export interface Analysis {
  readonly code: AnalysisCode
  readonly severity: Severity
  readonly instance: InstanceName | null
  readonly sentence: Sentence
  /** A person said that trouble of that instance is expected now. Absent where not. */
  readonly expected?: true
}

export interface PrintedAnalysis extends Omit<Analysis, 'sentence'> {
  readonly sentence: string
}

export type AnalysisCode = ReplicationCode | GroupCode

/** What can be wrong with one replication group alone. */
export type GroupCode =
  | 'GroupMemberMissing'
  | 'GroupMemberRecovering'
  | 'GroupMemberUnreachable'
  | 'GroupMemberError'
  | 'GroupAccountWrong'
  | 'GroupNoQuorum'
  | 'GroupOutage'
  | 'GroupUncertain'
  | 'GroupSplitBrain'
  | 'GroupFork'
  | 'GroupEvenSize'

/** What can be wrong with a cluster of a primary and replicas; orchestrator's vocabulary in source/replica terms. */
export type ReplicationCode =
  | 'DeadPrimary'
  | 'UnreachablePrimary'
  | 'DeadPrimaryAndSomeReplicas'
  | 'DeadPrimaryAndReplicas'
  | 'DeadPrimaryWithoutReplicas'
  | 'FrozenPrimary'
  | 'PrimaryAgentUnreachable'
  | 'AllReplicasNotReplicating'
  | 'LockedSemiSyncPrimary'
  | 'PrimarySemiSyncMustBeSet'
  | 'ReplicaSemiSyncMustBeSet'
  | 'NotEnoughSyncReplicas'
  | 'NoWritablePrimary'
  | 'ElectedSetLost'
  | 'TwoWritablePrimaries'
  | 'PrimaryHasSource'
  | 'ErrantTransactions'
  | 'ReplicaNotReplicating'
  | 'ReplicaLagging'
  | 'ReplicaDelayed'
  | 'ReplicaDead'
  | 'SeedingFailed'
  | 'InstanceUnreachable'
  | 'UnsettledTail'
  | 'ForgetfulReplica'
  | 'VolumeFromThePast'
  | 'GtidsReset'
  | 'ReplicaPassedOver'
  | 'BinlogOff'
  | 'StrangerAcknowledges'
  | 'UnacknowledgedCommits'
  | 'WrongSource'
  | 'ReplicationFilter'
  | 'OpenedByHand'
  | 'ForeignTables'
  | 'PersistedVariables'
  | 'SettingsChanged'
  | 'SettingsRefused'
  /** mysqld ends before it is up, again and again. */
  | 'MysqldDoesNotStart'
  | 'NotReadyForFailover'
  | 'UnclassifiedSettings'
  | 'ChannelOptionsChanged'
  | 'DiskFull'
  | 'LowSpace'
  | 'ReadOnlyFilesystem'
  | 'TooManyConnections'
  | 'GlobalLock'
  | 'BinlogNumberHigh'
  | 'MixedVersions'
  | 'RecordFromThePast'
  | 'RecordLost'
  | 'RecordOfAnotherHistory'
  | 'NotesDamaged'
  | 'NotProtected'
  | 'Paused'
  | 'Fenced'
  | 'ManagerIsolated'
