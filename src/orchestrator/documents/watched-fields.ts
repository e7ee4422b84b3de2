import type { FilePlace, MoreOfServer, WatchedServer } from '#manager/clusters/watched.ts'
import type { Coordinates } from './instance.ts'

/** What is otherwise of a server that only speaks by SQL: settings are its owner's, and nothing of them is given. */
export function watchedFields(seen: WatchedServer) {
  const { channel, binlogFormat, logBin, logReplicaUpdates, gtidMode } = seen
  return {
    ServerID: seen.serverId,
    FlavorName: seen.product,
    Binlog_format: binlogFormat,
    LogBinEnabled: logBin,
    LogSlaveUpdatesEnabled: logReplicaUpdates,
    LogReplicationUpdatesEnabled: logReplicaUpdates,
    SelfBinlogCoordinates: placeOf(seen.binlog),
    GTIDMode: gtidMode === 'none' ? '' : gtidMode,
    SupportsOracleGTID: gtidMode === 'ON',
    UsingOracleGTID: channel?.autoPosition === true,
    SQLDelay: channel?.delaySeconds ?? 0,
    IsDetachedMaster: channel !== null && isDetached(channel.sourceHost),
    ReadBinlogCoordinates: placeOf(channel?.read),
    ExecBinlogCoordinates: placeOf(channel?.applied),
    GtidErrant: seen.errant,
    SemiSyncReplicaEnabled: seen.semiSyncReplica,
    ...(seen.more && moreFields(seen.more)),
  }
}

function moreFields({ semiSync, ...more }: MoreOfServer) {
  return {
    Uptime: more.uptimeSeconds,
    VersionComment: more.versionComment,
    BinlogRowImage: more.rowImage,
    GtidPurged: more.purged,
    AllowTLS: more.encrypted,
    SemiSyncAvailable: semiSync.isThere,
    SemiSyncMasterTimeout: semiSync.timeoutMs,
    SemiSyncMasterWaitForReplicaCount: semiSync.acks,
    SemiSyncMasterStatus: semiSync.isOn,
    SemiSyncMasterClients: semiSync.clients,
    SemiSyncReplicaStatus: semiSync.isReplicaOn,
  }
}

function placeOf(place: FilePlace | null | undefined): Coordinates {
  return { LogFile: place?.file ?? '', LogPos: place?.position ?? 0, Type: 0 }
}

/** orchestrator writes so before the address of a source that a replica is kept away from. */
export const detachedMark = '//'

export function isDetached(host: string): boolean {
  return host.startsWith(detachedMark)
}
