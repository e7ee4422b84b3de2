import type { Heard } from '#common/sentence/sentence.ts'
import type { GtidText } from './gtid-text.ts'
import type { ObservedBackups, SeedingFailure, SeedingProgress } from './copies.ts'
import type { InstanceName, MemberId } from './member.ts'
import type { OpenChange } from './open-changes.ts'

/** The newest version of this wire message. A reader accepts this and every older one. */
export const observationVersion = 1

/**
 * The operating system's view of mysqld: `absent` never started by this agent (its start gate is closed, see
 * `processNote`) · `starting` · `running` · `stopped` SIGSTOP or a frozen cgroup · `exiting` the kernel is tearing it
 * down: dead for every purpose · `dead` it ended.
 */
export type ProcessState = 'absent' | 'starting' | 'running' | 'stopped' | 'exiting' | 'dead'

/** A dump thread on this server: a replica that reads its binlog. */
export interface DumpThread {
  readonly threadId: number
  readonly user: string
  readonly host: string
  /** `server_uuid` the replica announced, or '' where it announced none. */
  readonly serverUuid: string
  /** The replica acknowledges: the source counts it for semi-sync. */
  readonly semiSync: boolean
}

/** A place in the binlogs of a server: the number in the name of the file, and how far into the file. */
export interface BinlogPlace {
  readonly file: number
  readonly position: number
}

/** The replication channel of this server, or null in `ServerState` where none is configured. */
export interface Channel {
  readonly sourceHost: string
  readonly sourcePort: number
  readonly sourceUser: string
  readonly sourceUuid: string
  readonly ioRunning: 'yes' | 'connecting' | 'no'
  readonly sqlRunning: boolean
  readonly ioError: string
  /** The server's number of `ioError`. Absent where there is none, and from older agents. */
  readonly ioErrno?: number
  readonly sqlError: string
  /** Received and not yet applied. */
  readonly backlogTransactions: number
  /** Seconds between the original commit of what is being applied and now; null when idle or unknown. */
  readonly lagSeconds: number | null
  /** When the newest transaction that was applied was committed at its source, by the clock there. Absent for none. */
  readonly appliedUpToMs?: number
  /** Semi-sync acknowledgements are in force (`Rpl_semi_sync_replica_status`). */
  readonly semiSync: boolean
  /** A replication filter is set. */
  readonly filtered: boolean
  /**
   * Milliseconds since the receiver last got an event or a heartbeat; null while it is not running. A source that fell
   * silent shows here long before the connection ends.
   */
  readonly silentMs: number | null
  /** The connection is to come over TLS. Absent from older agents. */
  readonly encrypted?: boolean
  /** Options that are otherwise than they are to be. Absent for none, and from older agents. */
  readonly changedOptions?: readonly ChangedSetting[]
  /**
   * How far it has read the binlogs of its source, at the least: what this server is shown to hold was looked at later.
   * Null while that is not known; absent from older agents.
   */
  readonly hasRead?: BinlogPlace | null
}

/** What mysqld itself answered. */
export interface ServerState {
  readonly uuid: string
  readonly version: string
  readonly readOnly: boolean
  readonly superReadOnly: boolean
  readonly offlineMode: boolean
  readonly executed: GtidText
  /**
   * `gtid_owned`: transactions that have a GTID and are not committed, those that wait for an acknowledgement among
   * them.
   */
  readonly owned: GtidText
  readonly purged: GtidText
  /** Received by the channel, applied or not (`Retrieved_Gtid_Set`); '' without a channel. */
  readonly received: GtidText
  readonly channel: Channel | null
  readonly dumpThreads: readonly DumpThread[]
  readonly semiSyncSource: {
    readonly enabled: boolean
    /**
     * Time-out, wait point and what happens without replicas are as Regent sets them: otherwise writes could go on
     * without acknowledgement.
     */
    readonly intact: boolean
    readonly acks: number
    /** Sessions that wait for an acknowledgement; a group commit counts once. */
    readonly waiting: number
    /** `Rpl_semi_sync_source_no_tx`: acknowledged to a client without the sync set since this server started. */
    readonly unacknowledged: number
  }
  /** Accounts of replicas whose gate is open here (not locked), by instance name. */
  readonly openGates: readonly InstanceName[]
  readonly runningSessions: number
  /** Number in the name of the newest binlog file; semi-sync breaks past 999999. */
  readonly binlogNumber: number
  /** Where that file ended, looked at after `executed`. Absent from older agents. */
  readonly binlogPosition?: number
  /** User tables that are not InnoDB, `schema.table`, at most 10. Read once per server start. */
  readonly foreignTables: readonly string[]
  /** Managed variables somebody persisted with SET PERSIST, by name. */
  readonly persisted: readonly string[]
  /** Transactions that have changed many rows. Absent for none, and from older agents. */
  readonly openChanges?: readonly OpenChange[]
  /** Managed settings that are otherwise than they are to be. Absent for none, and from older agents. */
  readonly changedSettings?: readonly ChangedSetting[]
  /** The passwords of people's and applications' accounts that are there. Absent from older agents. */
  readonly passwords?: readonly AccountPassword[]
  /** The replication group as this server sees the group. In mode `group` alone. */
  readonly group?: GroupState
}

/** `MEMBER_STATE` of `performance_schema.replication_group_members`. */
export type MemberState = 'ONLINE' | 'RECOVERING' | 'OFFLINE' | 'ERROR' | 'UNREACHABLE'

/** A replication group as one of its members, or a server that is none, shows the group. */
export interface GroupState {
  /** `group_replication_group_name`; '' where none is set. */
  readonly name: string
  /** `group_replication_consistency`, for sessions that begin now. Absent from older agents. */
  readonly consistency?: string
  /** The state of this server itself. */
  readonly state: MemberState
  readonly viewId: string
  /** Everybody of the view, this server among them. Only this server where it is no member. */
  readonly members: readonly GroupMember[]
  /** Transactions that wait here to be certified, and to be applied. */
  readonly certifying: number
  readonly applying: number
  /**
   * Seconds between the original commit of what is being applied and now; null where nothing is. Absent from older
   * agents.
   */
  readonly lagSeconds?: number | null
  /** When the newest transaction that was applied was committed at its source, by the clock there. Absent for none. */
  readonly appliedUpToMs?: number
  /** What the channels of the group reported last as an error; '' for nothing. */
  readonly error: string
  /** The error at which applying stopped: the data here is not what the group's is. Absent for none. */
  readonly applierError?: string
  /** Why the account by which members log in here may keep them out: `is locked`. Absent for none. */
  readonly accountTrouble?: string
  /** Transactions that began at this server since it joined. Absent from older agents. */
  readonly proposed?: number
  /** By which the group elects: the highest first. Absent from older agents. */
  readonly weight?: number
}

export interface GroupMember {
  readonly uuid: string
  readonly host: string
  readonly port: number
  readonly state: MemberState
  readonly role: 'PRIMARY' | 'SECONDARY' | ''
  readonly version: string
}

/** A setting of the server, or an option of its channel, that somebody changed while the server runs. */
export interface ChangedSetting {
  readonly name: string
  readonly seen: string
  readonly wanted: string
  /**
   * Writes of the sessions of clients that begin now are refused: the agent's own are not bound, and its write probe
   * goes through. Absent for no.
   */
  readonly refusesWrites?: true
}

/** Which password an account has here. */
export interface AccountPassword {
  readonly user: string
  /** The rotation of its password; '' for the first. */
  readonly generation: string
  /** The one before is accepted as well. */
  readonly keepsOld: boolean
}

/**
 * What the write probe found: `ok` · `unknown` not tried yet · `stuck` neither it nor the admin interface answers ·
 * `locked` a global lock holds it · `diskFull` · `lowSpace` the guard closed the server before the disk is full ·
 * `readOnlyFilesystem` · `tooManyConnections` (seen at the client port; the admin interface still answers).
 */
export type WriteProbe =
  'ok' | 'unknown' | 'stuck' | 'locked' | 'diskFull' | 'lowSpace' | 'readOnlyFilesystem' | 'tooManyConnections'

/** What the agent keeps on its disk and acts by. */
export interface StoredSummary {
  readonly promise: number
  readonly revision: number
  /** Epoch, role and revision of the assignment it acts by; null when it never had one. */
  readonly assignment: {
    readonly epoch: number
    readonly revision: number
    readonly role: 'primary' | 'replica'
    readonly counted: boolean
    readonly fenced: boolean
    readonly source: InstanceName | null
    /** A primary that is closed while it is copied; absent for no. */
    readonly donates?: true
    /** The replica may connect to its source. Absent means true. */
    readonly sourceReady?: boolean
    /** The replica was told that it was passed over, and stands by; absent for no. */
    readonly passedOver?: true
    /**
     * Where it was told that each instance is: an instance may come back at another address. Absent from older agents.
     */
    readonly addresses?: Readonly<Record<InstanceName, string>>
    /** What it is to do about its replication group. In mode `group` alone. */
    readonly groupDoes?: 'form' | 'join' | 'stayOut'
    /** The member was told that it is in a group that another hand formed. Absent for no. */
    readonly groupFork?: true
    /** The `group_replication_consistency` that it was told. Absent from older agents. */
    readonly groupConsistency?: string
  } | null
  /**
   * As a primary: the `server_uuid` it was told of each counted replica. Absent: an older agent, which refuses an order
   * that names them.
   */
  readonly countedUuids?: Readonly<Record<InstanceName, string>>
  /** The server may have acknowledged, at a stop nobody ordered, what no replica holds. */
  readonly unsettled: boolean
  /** The reason is that sessions were ended that stood in the way of a switchover. Absent for any other reason. */
  readonly unsettledBy?: 'switchover'
  /** Its machine crashed or its volume was cut off while it followed: it may have forgotten what it acknowledged. */
  readonly forgetful: boolean
  /** A seeding began and has not ended: it holds nothing that counts. */
  readonly seeding: boolean
  /** A replication filter was seen on it since it was last seeded. */
  readonly filterSeen: boolean
  /**
   * Its volume, or what its GTIDs name, was seen to have gone back in time, and it has not been seeded since: what its
   * GTIDs claim may be something else elsewhere.
   */
  readonly fromThePast: boolean
  /** Reason: somebody reset or gave its GTIDs while its server ran, or it had no binary log. Absent for no. */
  readonly gtidsReset?: true
  /** The last, or the second, of these. Absent for no, and from older agents. */
  readonly binlogOff?: true
  readonly gtidsGiven?: true
  /** The server was open for writes while it was no primary, and has not been seeded since. Absent for no. */
  readonly opened?: boolean
  /** The member was in a group that another hand formed: hence `opened`. Absent for no, and from older agents. */
  readonly forked?: true
  /** New at each agent start and with each newer promise: the copy in the notes tells a volume that went back. */
  readonly incarnation: string
  /** The incarnations before, newest first, as many as are kept. An agent that keeps none cannot be judged. */
  readonly earlierIncarnations?: readonly string[]
  /**
   * A manager has ordered this start of the agent something, and so noted it before. Absent from older agents, which do
   * not ask.
   */
  readonly toldNoted?: boolean
  /** The epoch of the order by which its data became a copy; 0 for none. Absent from older agents. */
  readonly copiedEpoch?: number
  /** The last epoch in which it formed its replication group, alone. Absent for none. */
  readonly formedEpoch?: number
  /** The backup that its data came out of, with its cluster. Absent where they began otherwise. */
  readonly restored?: string
}

/**
 * What the agent reports under a promise, read after everything was stopped and relay logs were fsynced: the whole of
 * what this member holds. The report is null until then, and dropped as soon as it may have changed.
 */
export interface PromiseReport {
  readonly epoch: number
  readonly holds: GtidText
  /** Applied of it; the rest is the applier backlog. */
  readonly executed: GtidText
  /**
   * The instance was the primary: its mysqld is dead, or demoted with no session waiting; `holds` is everything in its
   * binlog.
   */
  readonly asPrimary: boolean
}

/**
 * What a caller of this agent's lifecycle actions wants of the manager that leads. The manager answers each `id` once;
 * whoever leads next may find the wish fulfilled.
 */
export type Ask = { readonly id: string; readonly remainingMs: number } & AskedFor

export type AskedFor =
  | {
      readonly wants: 'switchover'
      /** The instance that is to be the primary no more. */
      readonly from: InstanceName
      /** Null for the best one. */
      readonly to: InstanceName | null
    }
  | {
      /** `fence`: a primary stays the primary, closed. */
      readonly wants: 'fence' | 'unfence'
      readonly instance: InstanceName
    }

export interface Observation extends ObservedBackups {
  readonly version: number
  readonly cluster: string
  readonly instance: InstanceName
  readonly member: MemberId
  /** Random id of this run of the agent; `sequence` grows by one with each observation of it. */
  readonly agentRun: string
  readonly sequence: number
  readonly regentVersion: string
  /** Its agent takes a manager’s `LeaderWord`, and asks about its lease where no peer confirms. Absent if older. */
  readonly takesWord?: true
  /** Its agent refuses an assignment that names another `agentRun`. Absent from older agents, which refuse the word. */
  readonly bindsToRun?: true
  /** How an agent reaches its host that is far from its server. Absent where it is beside that. */
  readonly reachedBy?: 'ssh' | 'sql'
  /** Nobody whom its agent could ask starts a mysqld of its host again that has ended. Absent else, and if older. */
  readonly startsAgain?: false
  readonly process: ProcessState
  /** Why the process is absent or dead, in a sentence; '' otherwise. */
  readonly processNote: Heard
  readonly mysqldPid: number | null
  /** Milliseconds since the process state was last different. */
  readonly processSinceMs: number
  /** Null until the server answered for the first time since it started; kept while it does not answer. */
  readonly server: ServerState | null
  /** Milliseconds since the look began that `server` shows. Absent where nothing is shown, and from older agents. */
  readonly lookAgeMs?: number
  /** Milliseconds since the server last answered everything; 0 when this observation is fresh. */
  readonly silentMs: number
  readonly probe: WriteProbe
  readonly probeDetail: Heard
  readonly freeBytes: number | null
  readonly stored: StoredSummary
  readonly promiseReport: PromiseReport | null
  /** The revision the server's state was last seen to match, 0 for none, and what it does now or did last. */
  readonly converged: { readonly revision: number; readonly done: boolean; readonly sentence: Heard }
  /**
   * The newest revision at which a marker was acknowledged by k counted members with that revision's gates in force.
   */
  readonly markedRevision: number
  /**
   * What a primary whose mysqld is dead holds, read from its files; null where not applicable, and once a server has
   * said what it holds.
   */
  readonly binlogSet: GtidText | null
  /** The lease question to be confirmed by the manager; null where the agent's peers confirm, or no lease is needed. */
  readonly lease: { readonly question: number; readonly remainingMs: number } | null
  /** The copy that is made here; `donor` is absent in what older agents say. */
  readonly seedingProgress: SeedingProgress | null
  /** Copies that failed since it was last seeded, one entry for each donor. Absent for none, and from older agents. */
  readonly seedingFailures?: readonly SeedingFailure[]
  /** Its server is just joining, or forming, a replication group. Absent for no. */
  readonly joinsGroup?: true
  /** The instance was told to end: it hands over, leaves the sync set, and its server stops. Absent for no. */
  readonly terminating?: true
  /**
   * As a primary: what its server lacks of the set that the primary was elected for, '' for nothing. With less than
   * that set the server stays closed. Absent from older agents.
   */
  readonly lacksElected?: GtidText
  /**
   * As a primary that was elected and does not take writes yet: for how long that has gone on in this epoch. Absent
   * otherwise, and from older agents.
   */
  readonly openingMs?: number
  /**
   * The replica has forgotten what it held, and was not told yet by its primary what to catch up with. The text is
   * another one for each time that something was forgotten. Absent where it was told or forgot nothing, and from older
   * agents.
   */
  readonly forgetfulAs?: string
  /**
   * As a primary: `forgetfulAs` of the replicas that a manager had told it of before its server was looked at as shown
   * here. Absent from older agents, which are not told.
   */
  readonly heardForgetful?: Readonly<Record<InstanceName, string>>
  /**
   * As a primary: which of the transactions that a manager asked about its server lacks, by replica, by a look that
   * began after the question (`topology/snapshot/comparison.ts`). `as` is of whom that was asked. Absent from older
   * agents, which are not asked.
   */
  readonly compared?: {
    /** The number of the newest question that is answered; 0 for none. */
    readonly question: number
    readonly lacks: Readonly<Record<InstanceName, { readonly as: string; readonly gtids: GtidText }>>
  }
  /**
   * As a replica: what it was told that its source never had; '' for nothing. Absent from older agents, which judge
   * that themselves.
   */
  readonly errantTold?: GtidText
  /** What its binlogs say of that. Absent before they were read, and from older agents. */
  readonly errantJudged?: { readonly of: GtidText; readonly changesNothing: boolean }
  /**
   * Why clients are shown another certificate than the newest they are to be shown. Absent where they are not, or none
   * was given.
   */
  readonly certificateTrouble?: Heard
  /** Settings that its mysqld refuses, in mysqld's own words. Absent where it refuses none. */
  readonly settingsRefused?: string
  /** mysqld came up with those of its last good start in their place. Absent for no, and from older agents. */
  readonly settingsRolledBack?: true
  /** Why the last start of its mysqld did not come up, and how many in a row did not. Absent once one did. */
  readonly startFailed?: string
  readonly startsFailed?: number
  /** Settings in force that Regent does not know and a person allowed, by name. Absent for none. */
  readonly unclassifiedSettings?: readonly string[]
  /**
   * What a failover, a copy or the next start of its mysqld rests upon and is not there as it is to be. Absent for
   * nothing, and from older agents.
   */
  readonly lacks?: readonly Lack[]
  /** Peers this agent heard from within the last lease interval, and milliseconds since it last heard from each. */
  readonly peers: readonly { readonly instance: InstanceName; readonly heardMsAgo: number | null }[]
  /**
   * Members of its replication group whose servers have answered this agent nothing for `silentMemberMs`. Absent for
   * none, and from older agents.
   */
  readonly silentMembers?: readonly InstanceName[]
  /** Absent for none, and from older agents. */
  readonly asks?: readonly Ask[]
  /** Things put right or noticed since the agent started, newest last, at most 20. */
  readonly notices: readonly Notice[]
}

/** A thing that is missing or not as it should be. */
export interface Lack {
  /** `table regent.marker` */
  readonly what: Heard
  /** What rests upon it: `the gates of replicas`. */
  readonly for: Heard
  /** What is done about that, or why nothing is: the end of a sentence. */
  readonly cure: Heard
}

export interface Notice {
  /** Grows by one per notice of this agent run. */
  readonly id: number
  readonly wallMs: number
  readonly code: string
  readonly sentence: Heard
}
