import type { PartEnd } from '#common/files/part-end.ts'
import type { Heard, Said } from '#common/sentence/sentence.ts'
import type { GtidNumber } from '#topology/gtid/gtid-number.ts'
import type { FoundTail } from './tail.ts'
import type { BinlogPlace } from '#topology/snapshot/observation.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'

/**
 * How a mysqld that is dead ended, as far as its files tell. `unknown` counts as stopped: its tail may have been
 * acknowledged.
 */
export interface Ending {
  readonly how: 'crashed' | 'stopped' | 'unknown'
  readonly sentence: string
}

/** What becomes of the tail of a dead former primary that its successor does not hold. */
export type TailJudgement =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'trim'; readonly gtids: GtidText; readonly sentence: string }
  | { readonly kind: 'refuse'; readonly gtids: GtidText; readonly sentence: string }

export interface BegunHere {
  readonly all: number
  /** Transactions that may have changed data. */
  readonly changing: number
}

/** What a server with this uuid wrote between two ends of transactions. */
export interface BinlogPart {
  readonly uuid: string
  readonly from: BinlogPlace
  readonly to: BinlogPlace
}

export interface BegunUnderOthers {
  readonly gtids: GtidText
  /** Up to where that was read. */
  readonly end: BinlogPlace
}

/** An archive as its folder shows it. */
export interface ArchiveSize {
  readonly folder: string
  readonly bytes: number
}

/** A binlog file as the folder shows it. */
export interface BinlogFile {
  readonly name: string
  readonly bytes: number
  /** Wall clock of its last write. */
  readonly writtenAtMs: number
}

/** A transaction as it stands in a binlog file. */
export interface BinlogTransaction {
  /** `uuid` or `uuid:tag`. */
  readonly source: string
  readonly number: GtidNumber
  /** By the clock of the server where it began. */
  readonly committedMs: number
  readonly offset: number
  readonly end: number
}

/** A part of a binlog file, from `offset` up to `end`. */
interface BinlogRange {
  readonly name: string
  readonly offset: number
  readonly end: number
}

/**
 * A part of relay logs that are written: another file begins with the Format_description event of its binlog, or the
 * same file goes on.
 */
export type RelayLogPart = { readonly head: Buffer } | { readonly bytes: Buffer }

/** Which copy a folder is filled with. */
export interface CopyName {
  /** In words. */
  readonly what: Said
  /** SHA-256 of all that says what the copy is: another one has another. */
  readonly digest: string
}

/** The first parts of a copy, in a folder where an agent that ended had them. */
export interface KeptCopy {
  readonly folder: string
  readonly end: PartEnd
  /** The stream up to there, as it came. */
  readonly read: () => AsyncIterable<Buffer>
}

/** What an agent that ended left of a copy: it can be gone on with, or why not. */
export type HalfCopy =
  { readonly kept: KeptCopy } | { readonly kept: null; readonly bytes: number; readonly whyNot: Said }

/** A copy that comes as a tar in parts. */
export interface CopyInParts {
  /** Null where nothing is kept of the copy if the agent ends. */
  readonly name: CopyName | null
  /** What is kept comes again at the beginning, out of the folder. */
  readonly kept: KeptCopy | null
  /** @param ended is called before the first byte behind a part comes */
  readonly read: (ended: (end: PartEnd) => void) => AsyncIterable<Buffer>
}

/** The instance's volume while mysqld may be dead: binlogs, relay logs, archives, free space. */
export interface VolumePort {
  /** Fsyncs the relay logs and their index: what is reported as held must survive a power cut. */
  syncRelayLogs(): Promise<void>
  /**
   * Everything that a dead server holds: every GTID in its binlogs, from the files, and what was noted to be in none of
   * them.
   */
  readBinlogSet(): Promise<GtidText>
  /** Notes what the running server executed and no binlog of it names (`gtid_purged`). */
  notePurged(gtids: GtidText): Promise<void>
  /** What was noted so; '' for nothing. */
  readPurged(): Promise<GtidText>
  /** Its binlog files, oldest first. */
  listBinlogs(): Promise<readonly BinlogFile[]>
  /** What was executed before this file began; null where the file cannot be read. */
  previousGtids(name: string): Promise<GtidText | null>
  /**
   * Shows the whole transactions of a binlog file in their order, from the one at `from` on (0: all), until `visit`
   * gives false. Rejects with `REGENT_BINLOG_UNREADABLE`, and where the file is gone.
   */
  visitBinlog(
    name: string,
    from: number,
    visit: (transaction: BinlogTransaction) => boolean,
    signal?: AbortSignal,
  ): Promise<void>
  /** The Format_description event of a binlog file, as of a closed one, and then a part of the file, as they stand. */
  readBinlog(range: BinlogRange): Promise<{ readonly rawBytes: number; readonly content: AsyncIterable<Buffer> }>
  /** What the logs of a dead server have of transactions that somebody lacks. */
  findTail(wanted: GtidText): Promise<FoundTail>
  /** A part of a file that it named. Rejects with `REGENT_REFUSED` for any other file. */
  readTail(file: string, offset: number, end: number): Promise<Buffer>
  /** Writes such parts as relay logs that `ServerPort.applyTail` takes; resolves to the name of the first. */
  writeTail(parts: AsyncIterable<RelayLogPart>): Promise<string>
  /** How mysqld ended since its last start. */
  endedHow(): Promise<Ending>
  /** The same at a glance, within a millisecond, while the process may still be torn down. */
  glanceAtEnding(): Promise<Ending>
  /** Judges, without changing anything, the tail against what the new primary holds. */
  judgeTail(sourceHolds: GtidText): Promise<TailJudgement>
  /**
   * Archives the tail, cuts it, and makes the next start take a new `server_uuid`. Only after a judgement of `trim`.
   */
  trimTail(sourceHolds: GtidText): Promise<string>
  /** Archives transactions from the binlogs, readable with mysqlbinlog; resolves to the folders they are in. */
  archiveErrant(gtids: GtidText): Promise<readonly string[]>
  /** Which of these transactions are in its binlogs and changed no data. */
  withoutEffect(gtids: GtidText): Promise<GtidText>
  /** Transactions behind a place in its binlogs that began at its own server. */
  begunHere(from: BinlogPlace): Promise<BegunHere>
  /** Transactions in a part of its binlogs that began at its own server by the name of another one. */
  begunUnderOthers(part: BinlogPart): Promise<BegunUnderOthers>
  /** All archives there are, oldest first. */
  listArchives(): Promise<readonly ArchiveSize[]>
  removeArchive(folder: string): Promise<void>
  /**
   * Puts the seeded copy `from` in place of the data folder; the old one is kept beside until the copy is in place,
   * then removed. New `server_uuid`.
   */
  swapIn(from: string): Promise<void>
  /**
   * After an agent that died: a data folder whose place was not taken yet has its place back. A half copy that nobody
   * can go on with, and data folders that were still being removed, get names that nobody uses. Only before anybody may
   * copy.
   * @param needsBeside the data folder that stayed beside may have to take its place again
   */
  setUnusedAside(of: { readonly needsBeside: boolean }): Promise<void>
  /** Removes what was set aside; resolves to whether there was anything. */
  dropUnused(): Promise<boolean>
  /** As `swapIn`, but the old data folder stays beside. */
  swapBeside(from: string): Promise<void>
  /**
   * Puts the data folder that stayed beside, if any, back in its place. Done again after whatever died in the middle of
   * it.
   */
  swapBack(): Promise<void>
  /** Removes the data folder that stayed beside. */
  dropBeside(): Promise<void>
  /**
   * Readies the data folder for a copy over what is in it: the server has another `server_uuid` from its next start on.
   * Undefined where a copy is made beside the data.
   */
  readyForCopyOver?(): Promise<void>
  /** Bytes of a copy that an agent was making when the agent died, and that nobody can go on with; 0 for none. */
  halfCopyBytes(): Promise<number>
  /** What is there of this copy. */
  halfCopy(of: CopyName): Promise<HalfCopy>
  /** Nobody goes on with the half copy that is there. */
  giveUpHalfCopy(): Promise<void>
  /** A fresh, empty path on the same volume for a copy; leftovers of an earlier one are removed. */
  freshSeedFolder(): Promise<string>
  /**
   * Fills such a path, or one with what is kept, with the data folder that comes as a tar, synced to the disk. Rejects
   * where that is not whole.
   * @param from the backup of another cluster: its server takes the accounts of this cluster when it starts; null for a
   * backup of this cluster, which has them
   */
  unpackInto(folder: string, copy: CopyInParts, from: string | null): Promise<void>
  /** Says of such a folder, before that takes its place, what it came out of. */
  noteRestored(folder: string, from: string): Promise<void>
  /** The backup that the data folder came out of, as it was named then; undefined for none. */
  restoredFrom(): Promise<string | undefined>
  /** Bytes of the data itself, without binlogs and relay logs: what a copy of the running server takes. */
  dataBytes(): Promise<number>
  /** A fresh path on the same volume for a copy of this server that is to be streamed; what is there is removed. */
  freshStreamFolder(): Promise<string>
  /** Whether such a copy, or a part of one, is there. */
  hasStreamFolder(): Promise<boolean>
  /** Removes it. */
  dropStreamFolder(): Promise<void>
  /** A fresh path on the same volume where a restore is rehearsed; what is there is removed. */
  freshRehearsalFolder(): Promise<string>
  /** Whether one is there, and its removal. */
  hasRehearsalFolder(): Promise<boolean>
  dropRehearsalFolder(): Promise<void>
  /** The message of the first write that fails here, or null; and bytes free, null where nobody can tell. */
  probe(): Promise<{
    readonly freeBytes: number | null
    readonly failure: 'diskFull' | 'readOnlyFilesystem' | null
    readonly detail: Heard
  }>
}
