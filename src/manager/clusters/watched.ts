import type { Recovery } from '#failover/protocol/notes.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'

/** A cluster that is only watched: nobody keeps a record of it, and its servers tell of themselves by SQL alone. */
export interface Watched {
  /** Whom most follow; null where nobody is followed. */
  readonly primary: InstanceName | null
  /** The death of the primary; null unless it does not answer, and replicas that were asked afterwards have lost it. */
  readonly death: Death | null
  /** Why the primary is not taken for dead; '' where it answers, or is dead. */
  readonly doubt: string
  /** Servers that have answered, by instance. */
  readonly servers: Readonly<Record<InstanceName, WatchedServer>>
}

export interface Death {
  readonly words: string
  /** What nobody else holds, as far as that is known. */
  readonly loss: string
  /** Nothing acknowledged is lost, or the owner has accepted what may be. */
  readonly isLossAccepted: boolean
}

/** With servers that answer, and could not be made to follow. */
export interface WatchedRecovery extends Recovery {
  readonly lost?: readonly InstanceName[]
}

export interface RecoveryBegun {
  readonly kind: Recovery['kind']
  /** orchestrator’s code and a sentence. */
  readonly analysis: string
  readonly from: InstanceName
}

export interface RecoveryEnded {
  readonly outcome: Exclude<Recovery['outcome'], 'running'>
  readonly sentence: string
  readonly to: InstanceName | null
  /** Servers that answer, and could not be made to follow. */
  readonly lost: readonly InstanceName[]
}

/** What a look shows that agents do not tell: servers of others are set up otherwise than Regent's own. */
export interface WatchedServer {
  /** When the look began that it answered last; monotonic. Absent where nobody looks. */
  readonly askedMs?: number
  readonly serverId: number
  readonly product: 'MySQL' | 'MariaDB'
  readonly binlogFormat: string
  readonly logBin: boolean
  readonly logReplicaUpdates: boolean
  /** `ON` where each transaction has a GTID; `none` where the version knows none. */
  readonly gtidMode: string
  /** The end of its own binlog; null where it writes none. */
  readonly binlog: FilePlace | null
  /** The channel by which it follows a server of the cluster; null where it follows none. */
  readonly channel: WatchedChannel | null
  readonly channels: number
  /** What it holds and its source has not. */
  readonly errant: GtidText
  readonly semiSyncReplica: boolean
  /** Null until somebody wanted to know. */
  readonly more: MoreOfServer | null
}

export interface WatchedChannel {
  /** As the replica names its source: perhaps another name than the cluster has for that server. */
  readonly sourceHost: string
  readonly sourcePort: number
  readonly autoPosition: boolean
  /** Seconds that it is delayed on purpose. */
  readonly delaySeconds: number
  readonly read: FilePlace
  readonly applied: FilePlace
}

/** A place in the binlogs of a server, as MySQL names places. */
export interface FilePlace {
  readonly file: string
  readonly position: number
}

/** What only some ask for. */
export interface MoreOfServer {
  readonly uptimeSeconds: number
  readonly versionComment: string
  readonly rowImage: string
  readonly purged: GtidText
  readonly encrypted: boolean
  readonly semiSync: {
    /** Both plugins are there. */
    readonly isThere: boolean
    /** Commits wait for acknowledgements just now. */
    readonly isOn: boolean
    readonly isReplicaOn: boolean
    readonly acks: number
    readonly clients: number
    /** Sessions that wait for an acknowledgement. */
    readonly waiting: number
    readonly timeoutMs: number
  }
}
