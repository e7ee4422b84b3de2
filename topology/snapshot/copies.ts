import { mebibytes, say, text, type Heard, type Sentence } from '#common/sentence/sentence.ts'
import { counted, utcMomentOf } from '#common/text/words.ts'
import { parseGtidSet, type GtidSet } from '../gtid/gtid-set.ts'
import type { BinlogArchiveSeen, HoleClosingSeen } from './binlog-archive.ts'
import type { InstanceName } from './member.ts'

/** The copy that is made of another instance, or of a backup. `donor` is absent in what older agents say. */
export interface SeedingProgress {
  readonly stage: Heard
  readonly percent: number
  readonly donor?: InstanceName
  /** Nothing has come from the donor for so long. Absent where nothing is to come, and from older agents. */
  readonly stillMs?: number
}

/** How a base backup goes that is made of an instance. */
export interface BackupSeen {
  readonly name: string
  readonly stage: 'copies' | 'sends' | 'done' | 'failed'
  /** Bytes of the data that are in the store by now. */
  readonly rawBytes: number
  /** What lies in the store of that. */
  readonly storedBytes: number
  /** Why it failed, or why the archive does not go on behind it; '' otherwise. */
  readonly sentence: string
  /** Once it is whole: what it holds, as `shownGtids` says. Absent before, and from older agents. */
  readonly gtids?: string
  /** By the clock of its machine. Absent from older agents. */
  readonly startedAtMs?: number
  /** Once it is whole: until all was in the store. Absent before, and from older agents. */
  readonly tookMs?: number
}

/** A longer set is a page of numbers for people, and is sent with each observation. */
const longestGtids = 1_024

/** The set that a backup holds; where that is long, how many transactions there are. */
export function shownGtids(gtids: string): string {
  return gtids.length <= longestGtids ? gtids : counted(Number(parseGtidSet(gtids).count()), 'transaction')
}

/** What was shown so; null where that is only a number. */
export function gtidsShown(shown: string): GtidSet | null {
  return /^\d+ transaction/.test(shown) ? null : parseGtidSet(shown)
}

/** What stands in the place of a donor's name where an instance is seeded from a backup. */
export const backupAsDonor = 'a backup'

/** `backup 20261126T031209Z: 12.0 MiB of data are in the store`. */
export function describeBackup({ name, stage, rawBytes, sentence }: BackupSeen): Sentence {
  switch (stage) {
    case 'copies':
      return say`backup ${name}: the data are copied`
    case 'sends':
      return say`backup ${name}: ${mebibytes(rawBytes)} of data are in the store`
    case 'done':
      return sentence === ''
        ? say`backup ${name} is made: ${mebibytes(rawBytes)} of data`
        : say`backup ${name} is made: ${mebibytes(rawBytes)} of data; ${text(sentence)}`
    case 'failed':
      return say`backup ${name} failed: ${text(sentence)}`
  }
}

/** How the rehearsal of a restore goes, on a throw-away server of an instance. */
export interface RehearsalSeen {
  readonly name: string
  readonly stage: 'restores' | 'checks' | 'done' | 'failed'
  /** How far that is, what came of it, or why it failed. */
  readonly sentence: string
}

/** `rehearsal 20261129T040000Z: 12 of 80 tables are checked`. */
export function describeRehearsal({ name, stage, sentence }: RehearsalSeen): Sentence {
  return stage === 'failed'
    ? say`rehearsal ${name} failed: ${text(sentence)}`
    : say`rehearsal ${name}: ${text(sentence)}`
}

/**
 * The rehearsal failed, and a backup was verified since: nobody need look after that rehearsal any more. Names are
 * times.
 */
export function isOvertaken({ name, stage }: RehearsalSeen, verified: BackupsSeen['verified'] | undefined): boolean {
  if (stage !== 'failed' || verified === undefined || verified === null) return false
  return name < utcMomentOf(verified.verifiedAtMs).replaceAll(/[-:]/g, '')
}

/** What the agent of the primary sees in the store of backups. */
export interface BackupsSeen {
  /** Backups that are whole, and runs without a manifest: those that did not finish, and those that are under way. */
  readonly whole: number
  readonly leftovers: number
  /** The newest run that was begun, by its name; null for none. */
  readonly begun: { readonly name: string; readonly whole: boolean } | null
  /** The newest whole backup that can be read here; null for none. */
  readonly newest: {
    readonly name: string
    readonly endedAtMs: number
    readonly rawBytes: number
    readonly storedBytes: number
    /** When the first file was copied. Absent from older agents. */
    readonly startedAtMs?: number
    /** From the first file that was copied until all was in the store. Absent from older agents. */
    readonly tookMs?: number
    /** What it holds, as `shownGtids` says. Absent from older agents. */
    readonly gtids?: string
    /** Why no restore with the keys of the store takes it. Absent where one does, and from older agents. */
    readonly refused?: string
  } | null
  /** The newest that was restored once, and how long that took; null for none. */
  readonly verified: {
    readonly name: string
    readonly verifiedAtMs: number
    readonly restoreMs: number
    /** What was checked: tables, and their rows. Absent from older agents. */
    readonly tables?: number
    readonly rows?: number
    /** Tables that had the same rows as a replica at the same transactions. Absent where none was told. */
    readonly compared?: number
    /** The replica, or why there was none. Absent from older agents, and of rehearsals by these. */
    readonly replica?: string
    readonly notCompared?: string
  } | null
  /** The last look came to its end: what is said here is of that look. */
  readonly answers: boolean
  /** Why the last look did not come to its end, or what of the store cannot be read; '' for nothing. */
  readonly sentence: string
  /** Milliseconds since the last look that came to its end; null before the first. */
  readonly lookedAgoMs: number | null
}

/** A row that the primary writes: `regent.heartbeat`. */
export interface Heartbeat {
  /** Time of the wall clock. */
  readonly atMs: number
  readonly everyMs: number
}

/** What of backups can fail, each counted by itself. */
export type BackupWork = 'backup' | 'rehearsal' | 'archive' | 'retention'

/** How often that failed here since the agent started. */
export type BackupFailures = Readonly<Record<BackupWork, number>>

/** What an agent says of backups. */
export interface ObservedBackups {
  /** The newest base backup that was begun here since the agent started. Absent for none, and from older agents. */
  readonly backup?: BackupSeen
  /**
   * The newest rehearsal that was begun here since the agent started, or failed before. Absent for none, and from older
   * agents.
   */
  readonly rehearsal?: RehearsalSeen
  /**
   * What its agent was told to do about backups, as a text (`BackupTask`); '' for nothing. Absent where the agent can
   * open no store, and from older agents, which do not know the word.
   */
  readonly backupTask?: string
  /**
   * Whether this instance knows, on its own volume, that its cluster has a folder in the store that its agent was told
   * of. Absent where it was told of none, and from older agents, which cannot hear that of others.
   */
  readonly knowsStore?: boolean
  /**
   * The agent can be told `closeHole`. Absent where the agent can open no store, and from older agents, which do not
   * know that.
   */
  readonly closesHoles?: true
  /**
   * The instance can be seeded from a backup. Absent where the agent can open no store, and from older agents: these
   * refuse that.
   */
  readonly seedsFromBackup?: true
  /** The agent can be asked what lies in the store. Absent where the agent can open no store, and from older agents. */
  readonly readsStore?: true
  /** As a primary with a store of backups: what lies there. Absent otherwise, and from older agents. */
  readonly backups?: BackupsSeen
  /** How the shipping of binlogs goes. Absent where none was begun as primary, and from older agents. */
  readonly binlogArchive?: BinlogArchiveSeen
  /**
   * As a primary: when the newest heartbeat that was acknowledged was begun, by the clock of its machine, and how often
   * one is. Absent for none, and from older agents.
   */
  readonly heartbeat?: Heartbeat
  /** Absent where the agent was told of no backups and nothing failed, and from older agents. */
  readonly backupFailures?: BackupFailures
  /**
   * How the newest shipping goes of what the archive lacked. Absent where none was begun since the agent started, and
   * from older agents.
   */
  readonly closesHole?: HoleClosingSeen
}

/** How often a donor gave no whole copy. */
export interface SeedingFailure {
  /** Or `backupAsDonor`. */
  readonly donor: InstanceName
  /** How often, and why the last time. */
  readonly times: number
  readonly error: string
  /** The copy was refused: another try soon would come to the same. Absent for no. */
  readonly isRefused?: true
  /** Milliseconds since the last time. */
  readonly agoMs: number
}
