import type { Key } from './key.ts'
import type { NullableNumber } from './moment.ts'

export type PromotionRule = 'must' | 'prefer' | 'neutral' | 'prefer_not' | 'must_not'

/** -1: there is no such thread; 0: it stands; 1: it runs; 2: it is neither. */
export type ThreadState = -1 | 0 | 1 | 2

export interface Coordinates {
  readonly LogFile: string
  readonly LogPos: number
  readonly Type: 0 | 1
}

/** A server as orchestrator's API shows servers; names and spelling are orchestrator's. */
export interface Instance {
  readonly Key: Key
  readonly InstanceAlias: string
  readonly Uptime: number
  readonly ServerID: number
  readonly ServerUUID: string
  readonly Version: string
  readonly VersionComment: string
  readonly FlavorName: string
  readonly ReadOnly: boolean
  readonly Binlog_format: string
  readonly BinlogRowImage: string
  readonly LogBinEnabled: boolean
  readonly LogSlaveUpdatesEnabled: boolean
  readonly LogReplicationUpdatesEnabled: boolean
  readonly SelfBinlogCoordinates: Coordinates
  readonly MasterKey: Key
  readonly MasterUUID: string
  readonly AncestryUUID: string
  readonly IsDetachedMaster: boolean
  readonly Slave_SQL_Running: boolean
  readonly ReplicationSQLThreadRuning: boolean
  readonly Slave_IO_Running: boolean
  readonly ReplicationIOThreadRuning: boolean
  readonly ReplicationSQLThreadState: ThreadState
  readonly ReplicationIOThreadState: ThreadState
  readonly HasReplicationFilters: boolean
  readonly GTIDMode: string
  readonly SupportsOracleGTID: boolean
  readonly UsingOracleGTID: boolean
  readonly UsingMariaDBGTID: boolean
  readonly UsingPseudoGTID: boolean
  readonly ReadBinlogCoordinates: Coordinates
  readonly ExecBinlogCoordinates: Coordinates
  readonly IsDetached: boolean
  readonly RelaylogCoordinates: Coordinates
  readonly LastSQLError: string
  readonly LastIOError: string
  readonly SecondsBehindMaster: NullableNumber
  readonly SQLDelay: number
  readonly ExecutedGtidSet: string
  readonly GtidPurged: string
  readonly GtidErrant: string
  readonly SlaveLagSeconds: NullableNumber
  readonly ReplicationLagSeconds: NullableNumber
  readonly SlaveHosts: readonly Key[]
  readonly Replicas: readonly Key[]
  readonly ClusterName: string
  readonly SuggestedClusterAlias: string
  readonly DataCenter: string
  readonly Region: string
  readonly PhysicalEnvironment: string
  readonly ReplicationDepth: number
  readonly IsCoMaster: boolean
  readonly HasReplicationCredentials: boolean
  readonly ReplicationCredentialsAvailable: boolean
  readonly SemiSyncAvailable: boolean
  readonly SemiSyncPriority: number
  readonly SemiSyncMasterPluginNewVersion: boolean
  readonly SemiSyncReplicaPluginNewVersion: boolean
  readonly SemiSyncMasterEnabled: boolean
  readonly SemiSyncReplicaEnabled: boolean
  readonly SemiSyncMasterTimeout: number
  readonly SemiSyncMasterWaitForReplicaCount: number
  readonly SemiSyncMasterStatus: boolean
  readonly SemiSyncMasterClients: number
  readonly SemiSyncReplicaStatus: boolean
  readonly LastSeenTimestamp: string
  readonly IsLastCheckValid: boolean
  readonly IsUpToDate: boolean
  readonly IsRecentlyChecked: boolean
  readonly SecondsSinceLastSeen: NullableNumber
  readonly CountMySQLSnapshots: number
  readonly IsCandidate: boolean
  readonly PromotionRule: PromotionRule
  readonly IsDowntimed: boolean
  readonly DowntimeReason: string
  readonly DowntimeOwner: string
  readonly DowntimeEndTimestamp: string
  readonly ElapsedDowntime: number
  readonly UnresolvedHostname: string
  readonly AllowTLS: boolean
  readonly Problems: readonly string[]
  readonly LastDiscoveryLatency: number
  readonly ReplicationGroupName: string
  readonly ReplicationGroupIsSinglePrimary: boolean
  readonly ReplicationGroupMemberState: string
  readonly ReplicationGroupMemberRole: string
  readonly ReplicationGroupMembers: readonly Key[]
  readonly ReplicationGroupPrimaryInstanceKey: Key
}
