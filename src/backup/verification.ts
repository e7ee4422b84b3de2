import { exactly, integer, objectOf, optional, text, type Shaped } from '#common/input/shapes.ts'
import { say } from '#common/sentence/sentence.ts'
import { formatVersion, readStored, writeStored } from './stored-json.ts'

const amount = integer(0, Number.MAX_SAFE_INTEGER)
const moment = integer(0, 9_999_999_999_999)

const shape = objectOf({
  formatVersion: exactly(formatVersion),
  /** When the rehearsal ended, and how long the restore within took until the server took statements. */
  verifiedAtMs: moment,
  restoreMs: amount,
  /** What was replayed behind the backup: up to these transactions, committed by then. */
  gtids: text(0, 16_777_216),
  reachedMs: moment,
  tables: amount,
  rows: amount,
  /** How many of the tables had the same rows as a replica at the same transactions. */
  compared: optional(amount),
})

/** That a backup was restored, and its tables checked: a backup counts from then on. */
export type Verification = Shaped<typeof shape>

export function verificationText(verification: Verification): string {
  return writeStored(verification)
}

/** Throws `REGENT_NEWER_VERSION` or `REGENT_BACKUP_UNUSABLE`. */
export function parseVerification(stored: string, name: string): Verification {
  return readStored(stored, shape, say`verification of ${name}`)
}
