import { matching, optional, text, type Described } from '#common/input/shapes.ts'
import type { BackupsSeen } from '#topology/snapshot/copies.ts'
import { backupStore } from './backup-store.ts'
import { member, name, version } from './message.ts'

/** What an agent is asked about the store of its cluster's backups: people's machines have neither login nor key. */
export const storeQuestion = { version, cluster: name, member, store: backupStore }

/** A second, with its time zone. */
const time = text(1, 64)

/** What is looked for in the archive. */
export const archiveSearch = {
  /** `schema.table`, or `schema.*`. */
  table: text(3, 130),
  /** Absent: whatever was done to it. */
  kind: optional(matching('^[a-z]{1,16}$')),
  since: optional(time),
  until: optional(time),
  /** What an answer said of where the next one begins. Absent: at the beginning. */
  after: optional(text(1, 1_024)),
}
export type ArchiveSearch = Described<typeof archiveSearch>

/** What a rehearsal of a backup came to. */
export type StoredProof = Omit<NonNullable<BackupsSeen['verified']>, 'name'>

/** A whole backup; of its parts only how many there are. */
export interface StoredBackup {
  readonly name: string
  readonly cluster: string
  readonly lineage: string
  readonly instance: string
  readonly serverUuid: string
  readonly mysqlVersion: string
  readonly epoch: number
  readonly startedAtMs: number
  readonly endedAtMs: number
  readonly storedAtMs: number
  readonly gtids: string
  readonly gtidsAtMost: string
  readonly rawBytes: number
  readonly storedBytes: number
  readonly parts: number
  readonly compression: string
  readonly encryption: {
    readonly scheme: string
    readonly keyId: string
    readonly salt: string
    readonly signature: string
  } | null
  readonly sha256: string
  /** Null where no restore proved it. */
  readonly verified: StoredProof | null
}

export interface StoredBackups {
  /** Folder of the cluster in the store. */
  readonly cluster: string
  readonly address: string
  /** A restore with the keys at hand takes nothing that is plain. */
  readonly refusesPlain: boolean
  /** The oldest first. */
  readonly backups: readonly StoredBackup[]
  /** What of the store cannot be used, and why. */
  readonly unusable: readonly string[]
}

/** From when to when can be restored. */
export interface RestoreWindow {
  readonly cluster: string
  readonly spans: readonly { readonly fromMs: number; readonly toMs: number }[]
  /** Backups that reach themselves only. */
  readonly alone: readonly string[]
  /** Each hole of the archive, in a sentence. */
  readonly holes: readonly string[]
  /** Why backups are left out. */
  readonly leftOut: readonly string[]
}

export interface FoundTransaction {
  readonly gtid: string
  readonly committedMs: number
  readonly kind: string
  readonly statement: string
}

/** A part of the answer to a search, which may go on. */
export interface FoundTransactions {
  readonly cluster: string
  /** Pieces of the archive that cover the time asked for, and how many of these are read by now. */
  readonly pieces: number
  readonly read: number
  /** Compressed transactions that were too long to be looked into. */
  readonly passedOver: number
  readonly found: readonly FoundTransaction[]
  /** Null where all is read. */
  readonly next: string | null
}
