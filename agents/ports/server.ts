import { say, type Heard, type Sentence } from '#common/sentence/sentence.ts'
import type { PasswordsWish } from '#failover/protocol/order.ts'
import type { GroupPort } from './group.ts'
import type { AnsweredRow } from './throw-away.ts'
import { ordinalOf, type InstanceName } from '#topology/snapshot/member.ts'
import type { Lack, ServerState, WriteProbe } from '#topology/snapshot/observation.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import type { OpenChange } from '#topology/snapshot/open-changes.ts'

/** The server that a copy is made of, and the account that fetches the copy. */
export interface CloneDonor {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
}

/** Told while a copy is made. @param stillMs nothing has come for so long, where that is known */
export type TellProgress = (stage: Sentence, percent: number, stillMs?: number) => void

/**
 * What the agent can do to its own mysqld, as small verbs. Each is idempotent, has a deadline, and rejects with
 * `REGENT_SERVER_TIMEOUT` (the statement was killed in the server), `REGENT_SERVER_ERROR` or `REGENT_SERVER_DOWN`.
 * `agents/sql/server.ts` does it in SQL; a simulation does it in memory.
 */
export interface ServerPort {
  /** In mode `group` alone. */
  readonly group?: GroupPort

  /** Everything the observer reports, read in a few round trips. */
  readState(): Promise<ServerState>
  /**
   * Executed, owned and received sets alone, read after each other in the order received, owned, executed, so that
   * nothing that moves from one to the next is missed.
   */
  readHolds(): Promise<{ executed: GtidText; owned: GtidText; received: GtidText }>

  /** Writes and clients are let in, in one statement. */
  open(): Promise<void>
  /** `accounts` = super_read_only off with read_only on, so that accounts can be changed; `closed` = both on. */
  setReadOnly(state: 'accounts' | 'closed', deadlineMs?: number): Promise<void>
  /** `offline_mode`: on ends foreign sessions and refuses logins (3032). Thousands of sessions take seconds to end. */
  setOffline(on: boolean, deadlineMs?: number): Promise<void>
  /**
   * Ends every session that is not this agent's own nor a dump thread; those offline_mode cannot end (CONNECTION_ADMIN)
   * by id. Rejects with `REGENT_SERVER_TIMEOUT` where one stays that could still answer its client.
   */
  killForeignSessions(deadlineMs?: number): Promise<void>
  /** Ends these sessions, without waiting for what they undo. A session that is gone already need not be ended. */
  killSessions(ids: readonly number[]): Promise<void>
  /** Sessions that `killForeignSessions` ends. */
  foreignSessions(): Promise<number>
  /** Sessions of others that run a statement or hold a transaction open. */
  busySessions(): Promise<number>
  /**
   * Ends those sessions, and resolves once none of them is busy any more. Rejects with `REGENT_SERVER_TIMEOUT` where
   * one stays.
   */
  endBusySessions(): Promise<void>
  /** Transactions of others that have changed many rows, largest first; none on a server that is closed. */
  openChanges(): Promise<readonly OpenChange[]>
  /** Sessions, counted by owned GTIDs, that wait for an acknowledgement right now. */
  waitingSessions(): Promise<number>

  /** Stops the IO thread and resolves when it has stopped. No-op without a channel. */
  stopReceiver(): Promise<void>
  /** Resolves when the IO thread was asked to start, not when it is connected. */
  startReceiver(): Promise<void>
  startApplier(): Promise<void>
  stopApplier(): Promise<void>
  /**
   * Makes the channel follow `source`, with retry 1 s unlimited, auto-position, heartbeat 0.5 s. Nothing received may
   * be lost: with received ⊄ executed the applier stays running and SOURCE_AUTO_POSITION is left out of the statement
   * (docs/why/safety.md, "Nothing is destroyed on a guess"). Receiver must be stopped before; it does not start it.
   */
  pointTo(source: { host: string; port: number; user: string; password: string }): Promise<void>
  /**
   * Puts right the options of the channel that are changed with the applier stopped, a delay among them
   * (`failover/protocol/channel-options.ts`). Nothing received may be lost: a receiver that is stopped goes on,
   * meanwhile, at an address where nobody is, and the channel points there then. The applier runs afterwards.
   */
  setApplierOptions(): Promise<void>
  /**
   * The same for those that are changed with both threads stopped. Resolves to false when not everything received is
   * applied within `waitMs`: then nothing was changed. The receiver is stopped afterwards.
   */
  setStoppedOptions(waitMs: number): Promise<boolean>
  /** `STOP REPLICA; RESET REPLICA ALL`: only once everything received is applied. */
  forgetSource(): Promise<void>
  /** Removes replication filters set by hand. */
  clearFilters(): Promise<void>
  /**
   * What a replica holds at one moment: its applier rests for an instant, and goes on. Rejects with `REGENT_BUSY` where
   * somebody else starts the applier meanwhile.
   * @param select is answered while the applier rests, and names what no transaction keeps, such as the tables
   */
  stillView(select: string): Promise<StillView>
  /** Resolves to true when `set` is executed, false after `waitMs`. */
  waitExecuted(set: GtidText, waitMs: number): Promise<boolean>
  /** The same for as long as an applier goes on: resolves to false once none has for `stalledMs`. */
  waitApplied(set: GtidText, stalledMs: number): Promise<boolean>
  /** Resolves to true when `set` ⊆ received ∪ executed, false after `waitMs`. */
  waitReceived(set: GtidText, waitMs: number): Promise<boolean>

  /** Ends the channel by which a tail is applied, and what was not applied of it. */
  forgetTail(): Promise<void>
  /**
   * Applies relay logs that `VolumePort.writeTail` wrote, after all that was received. Resolves once all of `gtids` is
   * executed; the channel stays until `forgetTail` or `forgetSource`. Rejects with what stopped the applier, and with
   * `REGENT_TIMED_OUT` once it has not gone on for `stalledMs`.
   */
  applyTail(firstFile: string, gtids: GtidText, stalledMs: number): Promise<void>

  /** Takes effect at the receiver's next start. */
  setSemiSyncReplica(on: boolean): Promise<void>
  /**
   * acks 0 = off. Sets k, an infinite time-out, AFTER_SYNC, wait_no_replica. Changing k alone takes milliseconds,
   * on/off up to a second while a replica is connected.
   */
  setSemiSyncSource(acks: number): Promise<void>

  /**
   * Sets every replication account's gate, binary log off: accounts of `open` exist, have the right password, and are
   * unlocked; every other replication account is locked, its dump threads ended and seen gone. Needs
   * setReadOnly('accounts') or open() in force.
   */
  setGates(open: readonly InstanceName[]): Promise<void>
  /**
   * Ends dump threads for which `keep` is false: nothing written from then on is acknowledged through them. Resolves to
   * their session ids.
   */
  killDumpThreads(keep: (thread: ServerState['dumpThreads'][number]) => boolean): Promise<readonly number[]>
  /**
   * Resolves when killed sessions are gone: a dump thread takes up to a second while nobody else acknowledges. Rejects
   * when one stays.
   */
  waitSessionsGone(ids: readonly number[]): Promise<void>

  /**
   * Writes a marker row, binary log on; resolves when it is acknowledged by k replicas, however long that takes. Two
   * can wait at once, in two slots.
   */
  writeMarker(token: string, slot: 1 | 2): Promise<void>
  /**
   * Writes the time into the row of the heartbeat, binary log on, unless the server is read-only as it writes; resolves
   * when that is acknowledged, however long that takes. Rejects where a lock stands in the way for a second.
   */
  writeHeartbeat(): Promise<void>
  /**
   * An empty transaction with this GTID, binary log on; resolves when it is acknowledged, however long that takes.
   * Where the server has the GTID already nothing happens.
   */
  writeEmpty(gtid: string): Promise<void>
  /**
   * Gives `client` and `admin` the passwords of a generation, binary log on, with those they had accepted as well until
   * they are to be discarded. Only what differs is changed. Resolves when it is acknowledged by k replicas, however
   * long that takes.
   */
  setPasswords(wish: PasswordsWish): Promise<void>
  /**
   * Runs statements about accounts that somebody else gave, binary log on, and takes `SYSTEM_USER` back from `name`. A
   * statement that has no answer in time goes on in the server. Errors hold none of the statements.
   */
  provisionAccount(name: string, statements: readonly string[], terms: ProvisionTerms): Promise<void>
  /** Milliseconds for which the oldest of the agent's statements, or logins, has been under way; 0 for none. */
  oldestStatementMs(): number
  /** Sessions of others that the agent's statements, or logins, wait for at this moment. */
  blockers(): Promise<readonly Blocker[]>
  /** Ends what it waits for, or the session of one that holds a lock. Never to be given one that commits. */
  endBlocker(blocker: Blocker): Promise<void>
  /**
   * Tries one InnoDB write with the binary log off, through the client port's interface, within its deadline. Never
   * rejects.
   */
  probeWrite(deadlineMs: number): Promise<{ result: WriteProbe; detail: Heard }>

  /**
   * On: the event scheduler runs, and events that replication brought disabled are enabled, but for those that were
   * recorded as disabled, binary log off. Off: the scheduler stops.
   */
  setEvents(on: boolean): Promise<void>
  /**
   * How often events were changed since the server started, as the last `readState` saw it: by whoever, also by this
   * agent.
   */
  eventChanges(): number
  /**
   * Records, binary log on, which events are disabled at this primary; nothing where that is recorded. Resolves when it
   * is acknowledged by k replicas, however long that takes.
   */
  recordEvents(): Promise<void>
  /**
   * A copy of `donor` into `directory` (CLONE INSTANCE … DATA DIRECTORY), reporting progress. The copy is ended in the
   * server once `signal` is aborted.
   */
  cloneInto(directory: string, donor: CloneDonor, progress: TellProgress, signal?: AbortSignal): Promise<void>
  /**
   * A copy of `donor` over the server's own data (CLONE INSTANCE), at whose end the server ends, or starts itself anew.
   * Resolves then, to what `requireCopied` takes.
   */
  cloneOver(donor: CloneDonor, progress: TellProgress, signal?: AbortSignal): Promise<string>
  /** Rejects unless the server's data are the whole of the copy that began then. */
  requireCopied(begunAt: string): Promise<void>
  /**
   * A physical copy of this server into `directory`, which does not exist yet, while the server goes on (CLONE LOCAL
   * DATA DIRECTORY). Rejects with `REGENT_BUSY` while the server is copied by another instance. After a rejection
   * nothing writes to the directory any more.
   */
  cloneLocal(directory: string, signal: AbortSignal, progress: TellProgress): Promise<void>
  /** Ends copies by `cloneLocal` that an agent which died left running; resolves when they are gone. */
  endLocalClones(): Promise<void>
  /**
   * What clients and replicas are shown from their next connection on. Rejects where the server does not take it: then
   * what it showed before stays.
   */
  showCertificate(files: CertificateFiles): Promise<void>
  /**
   * Begins a new binlog where the newest has more than `bytes`: whoever connects is sent the newest from its beginning,
   * and skips there what it has.
   */
  beginBinlogAfter(bytes: number): Promise<void>
  /** Removes binlogs older than `file`, which stays, and none that a replica reads at this moment. */
  purgeBinlogsBefore(file: string): Promise<void>
  /**
   * `SHUTDOWN`, in order, after everybody's sessions were ended; resolves when the server has begun, with the agent's
   * own connections closed. Never sent to a primary: it would acknowledge what waits (docs/why/safety.md, "A stop
   * nobody ordered").
   */
  shutdown(): Promise<void>
  /** Sets a managed setting that a running server takes; rejects when it does not within its deadline. */
  setSetting(name: string, value: string): Promise<void>
  /** What the server lacks now of what failovers rest upon (`agents/needs/needs.ts`). */
  lacks(): Promise<readonly Lack[]>
  /**
   * Puts right, binary log off, what `lacks` found last: accounts, and Regent's schema where `schema` says so. Needs
   * setReadOnly('accounts') or open() in force.
   */
  supply(what: { readonly schema: boolean }): Promise<void>
  /** The same for the schema at an open primary, binary log on. Resolves when that is acknowledged by k replicas. */
  supplyEverywhere(): Promise<void>
  /** Why the server refuses each new login of the agent; '' where it lets the agent in, or says nothing. */
  whyRefused(): Promise<string>
  /** Closes connections; the next verb connects again. */
  disconnect(): void
}

export interface ProvisionTerms {
  /** For all statements together. */
  readonly deadlineMs: number
  /** Asked right before each statement: whether this server is still the open primary. */
  readonly mayGoOn: () => boolean
}

/** A session of somebody else, and the lock of it that is in the agent's way. */
export interface Blocker {
  readonly session: number
  readonly user: string
  readonly host: string
  /** The lock in words: `the backup lock`. */
  readonly lock: string
  /** The session waits for that lock itself, and later sessions wait behind this session. */
  readonly waits: boolean
  /** Seconds for which the session has been in what it does now, or has done nothing. */
  readonly seconds: number
  /**
   * The session is committing, and perhaps waits for an acknowledgement: ended now, its write would be acknowledged
   * without one.
   */
  readonly commits: boolean
  /** The session might begin to commit before it is ended. A global read lock cannot. */
  readonly mayCommit: boolean
  /**
   * What waits behind it: the beginning of the agent's statement, or `a login`. Whose login that is, nobody can tell
   * yet.
   */
  readonly behind: string
}

/** Paths of PEM files that mysqld can read. */
export interface CertificateFiles {
  readonly cert: string
  readonly key: string
  /** By whom it is signed, and clients' own certificates may be; null where that is not known. */
  readonly ca: string | null
}

/** The cure of a lack that `supply` puts right. */
export const agentPutsRight = say`its agent puts that right`

/** What the names of replication accounts begin with; an instance's ordinal follows. */
export const replicationUserPrefix = 'regent_r_'

/**
 * The account with which `instance` replicates from, and clones, any other instance. By ordinal: account names have 32
 * characters at most, and two instances must never share a gate.
 */
export function replicationUser(instance: InstanceName): string {
  return `${replicationUserPrefix}${ordinalOf(instance)}`
}

/** A transaction that sees what `gtids` name and nothing later, until it is ended. */
export interface StillView {
  readonly gtids: GtidText
  /** The answer of the same moment. */
  readonly there: readonly AnsweredRow[]
  /**
   * Rows of one SELECT. No table stays locked afterwards. Rejects with `REGENT_SERVER_ERROR`, for one where the table
   * was changed meanwhile, or `REGENT_SERVER_DOWN`.
   */
  query(select: string): Promise<readonly AnsweredRow[]>
  end(): void
}
