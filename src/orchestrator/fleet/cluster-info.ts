import type { Cluster } from './fleet.ts'

export function clusterInfo({ clusterName, alias, servers, isWatched, known: { spec, notes } }: Cluster) {
  const isAutomatic = !isWatched && spec.failover.automatic && notes.paused === null
  return {
    ClusterName: clusterName,
    ClusterAlias: alias,
    ClusterDomain: '',
    CountInstances: servers.length,
    HeuristicLag: Math.max(0, ...servers.map(({ instance }) => instance.ReplicationLagSeconds.Int64)),
    HasAutomatedMasterRecovery: isAutomatic,
    HasAutomatedIntermediateMasterRecovery: isAutomatic,
  }
}
