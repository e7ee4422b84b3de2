import { clusterInfo } from '../fleet/cluster-info.ts'
import type { Cluster, Server } from '../fleet/fleet.ts'
import { maintenanceOf } from '../fleet/maintenance.ts'
import { codeRules } from './codes.ts'
import { figuresOf, type Figures } from './figures.ts'
import { structureWarningsOf } from './structure-warnings.ts'

/** An entry of `replication-analysis`, in orchestrator's shape. */
export type AnalysisEntry = ReturnType<typeof analysisEntry>

/** An entry for each server of which there is something to say. A server in maintenance is left alone. */
export function analysesOf(fleet: readonly Cluster[]): readonly AnalysisEntry[] {
  return fleet
    .flatMap(({ servers }) => servers.filter((one) => maintenanceOf(one) === undefined).map(analysisEntry))
    .filter(({ Analysis, StructureAnalysis }) => Analysis !== 'NoProblem' || StructureAnalysis.length > 0)
}

/** What is wrong with a server, or that nothing is. */
export function analysisEntry(server: Server) {
  const figures = figuresOf(server)
  const { instance, cluster } = server
  const rule = codeRules.find(({ holds }) => holds(figures))
  const isExcused = rule?.isOfReplicas === true && figures.count > 0 && figures.downtimed === figures.count
  return {
    AnalyzedInstanceKey: instance.Key,
    AnalyzedInstanceMasterKey: instance.MasterKey,
    ClusterDetails: clusterInfo(cluster),
    AnalyzedInstanceDataCenter: instance.DataCenter,
    AnalyzedInstanceRegion: instance.Region,
    AnalyzedInstancePhysicalEnvironment: instance.PhysicalEnvironment,
    AnalyzedInstanceBinlogCoordinates: instance.SelfBinlogCoordinates,
    ...countsOf(figures),
    ReplicationDepth: instance.ReplicationDepth,
    Replicas: instance.Replicas,
    SlaveHosts: instance.Replicas,
    Analysis: rule?.code ?? 'NoProblem',
    Description: rule?.description ?? '',
    StructureAnalysis: structureWarningsOf(figures),
    IsDowntimed: instance.IsDowntimed,
    IsReplicasDowntimed: isExcused,
    DowntimeEndTimestamp: instance.DowntimeEndTimestamp,
    SkippableDueToDowntime: instance.IsDowntimed || isExcused,
    IsBinlogServer: false,
    OracleGTIDImmediateTopology: figures.isByGtids,
    SemiSyncMasterEnabled: instance.SemiSyncMasterEnabled,
    SemiSyncMasterStatus: instance.SemiSyncMasterStatus,
    SemiSyncMasterWaitForReplicaCount: instance.SemiSyncMasterWaitForReplicaCount,
    SemiSyncMasterClients: instance.SemiSyncMasterClients,
    GTIDMode: instance.GTIDMode,
    CommandHint: '',
    IsReadOnly: instance.ReadOnly,
  }
}

function countsOf(figures: Figures) {
  const loggingBy = (format: string) => figures.logging.filter(({ Binlog_format }) => Binlog_format === format).length
  return {
    IsMaster: figures.isMaster,
    IsReplicationGroupMember: figures.isGroupMember,
    IsCoMaster: figures.isCoMaster,
    LastCheckValid: figures.isValid,
    LastCheckPartialSuccess: figures.isPartlySeen,
    CountReplicas: figures.count,
    CountValidReplicas: figures.valid,
    CountValidReplicatingReplicas: figures.replicating,
    CountReplicasFailingToConnectToMaster: figures.failingToConnect,
    CountDowntimedReplicas: figures.downtimed,
    IsFailingToConnectToMaster: figures.isFailingToConnect,
    CountSemiSyncReplicasEnabled: figures.replicas.filter(({ SemiSyncReplicaEnabled }) => SemiSyncReplicaEnabled)
      .length,
    CountLoggingReplicas: figures.logging.length,
    CountStatementBasedLoggingReplicas: loggingBy('STATEMENT'),
    CountMixedBasedLoggingReplicas: loggingBy('MIXED'),
    CountRowBasedLoggingReplicas: loggingBy('ROW'),
    CountDelayedReplicas: figures.delayed,
    CountLaggingReplicas: figures.lagging,
  }
}
