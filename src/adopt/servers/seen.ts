import type { Dialect } from '#agents/sql/dialect/dialect.ts'

/** A place in the binlogs of a source, as MySQL names it. */
export interface BinlogPosition {
  readonly file: string
  readonly position: number
}

/** A replication channel of a server. */
export interface SeenChannel {
  readonly name: string
  readonly sourceHost: string
  readonly sourcePort: number
  readonly sourceUser: string
  /** '' where the version knows none, or the receiver never connected. */
  readonly sourceUuid: string
  readonly io: 'yes' | 'connecting' | 'no'
  readonly ioError: string
  /** The number of that; 0 for none. */
  readonly ioErrno: number
  readonly sql: boolean
  readonly sqlError: string
  readonly lagSeconds: number | null
  /** GTIDs received, as text; '' without GTIDs. */
  readonly received: string
  readonly read: BinlogPosition
  readonly applied: BinlogPosition
  readonly filtered: boolean
  readonly autoPosition: boolean
  /** Seconds that it is delayed on purpose. */
  readonly delaySeconds: number
}

/** A replica as its source lists it. */
export interface ListedReplica {
  /** '' where the replica announces none (`report_host`). */
  readonly host: string
  readonly port: number
  readonly uuid: string
  readonly serverId: number
}

/** What does not change from one second to the next. */
export interface ServerFacts {
  readonly dialect: Dialect
  readonly version: string
  /** `server_uuid`; '' where the server has none. */
  readonly uuid: string
  readonly serverId: number
  readonly hostname: string
  readonly port: number
  readonly dataDir: string
  readonly reportHost: string
  readonly gtidMode: string
  readonly logBin: boolean
  readonly logReplicaUpdates: boolean
  /** What `SET PERSIST` keeps is found by a start. */
  readonly loadsPersisted: boolean
  readonly binlogFormat: string
  readonly netTimeoutSeconds: number
  /** `rpl_semi_sync_source_enabled`; false where the plugin is not there. */
  readonly semiSyncSource: boolean
  readonly semiSyncReplica: boolean
  readonly listed: readonly ListedReplica[]
  /** Hosts whose sessions read the binlog. */
  readonly dumpHosts: readonly string[]
  /** Grants of the account that looks, as `SHOW GRANTS` has them. */
  readonly grants: readonly string[]
  /** Privileges that the account lacks, by what was refused. */
  readonly lacks: readonly string[]
}

/** A look at a server. */
export interface SeenServer extends ServerFacts {
  /** `Rpl_semi_sync_source_status`: its writes wait for replicas, and it has not given that up after its time-out. */
  readonly semiSyncWaits: boolean
  readonly readOnly: boolean
  readonly superReadOnly: boolean
  readonly offline: boolean
  /** MHA’s manager watches it as its master. */
  readonly mhaWatches: boolean
  /** `gtid_executed`, as text without white space; '' without GTIDs. */
  readonly executed: string
  /** The end of its own binlog; null where it writes none. */
  readonly binlog: BinlogPosition | null
  readonly channels: readonly SeenChannel[]
}

/**
 * How a server was reached: `answers` · `full` too many connections · `lockedOut` mysqld is there and refuses the
 * account · `refused` nobody listens · `silent` no answer in time · `unresolved` the name has no address · `noMysql`
 * something else listens there · `unasked` Regent could not ask: a certificate, a version, or something here stood in
 * the way.
 */
export type Reach = 'answers' | 'full' | 'lockedOut' | 'refused' | 'silent' | 'unresolved' | 'noMysql' | 'unasked'
