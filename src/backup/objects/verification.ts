import { exactly, integer, objectOf, optional, text, type Shaped } from '#common/input/shapes.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Manifest } from './manifest.ts'
import { sealOf, sealShape, whyNotSealed } from '../keys/seal.ts'
import { formatVersion, readStored, unusable, writeStored } from './stored-json.ts'
import type { KeyRing } from '../keys/key-ring.ts'

const amount = integer(0, Number.MAX_SAFE_INTEGER)
const moment = integer(0, 9_999_999_999_999)

const shape = objectOf({
  formatVersion: exactly(formatVersion),
  /** The end of the rehearsal, and the time that its restore took until the server took statements. */
  verifiedAtMs: moment,
  restoreMs: amount,
  /** The state that the replay reached behind the backup: these transactions, committed by then. */
  gtids: text(0, 16_777_216),
  reachedMs: moment,
  tables: amount,
  rows: amount,
  /** The number of tables that had the same rows as a replica at the same transactions. */
  compared: optional(amount),
  /** The instance that these rows were compared with. Absent where no table was compared, and of older Regents. */
  replica: optional(text(1, 64)),
  /** Why no table was compared. Absent where some were, and of older Regents. */
  notCompared: optional(text(1, 1_024)),
  /** Absent without a key. */
  seal: optional(sealShape),
})

/** The proof that a backup was restored, and its tables checked. Only a backup with a proof counts as sure. */
export type Verification = Shaped<typeof shape>

/** The backup of a proof, and the keys. A key of null means that nothing is signed, and each proof is believed. */
export interface VerificationPlace extends Pick<Manifest, 'cluster' | 'lineage' | 'name'> {
  readonly key: KeyRing | null
}

/** The text to be stored. */
export function verificationText(verification: Omit<Verification, 'seal'>, place: VerificationPlace): string {
  if (place.key === null) return writeStored(verification)
  return writeStored({ ...verification, seal: sealOf(signedText(verification, place), place.key) })
}

/**
 * Throws `REGENT_NEWER_VERSION`, or `REGENT_BACKUP_UNUSABLE`, the latter also for a proof that is not to be believed.
 */
export function parseVerification(stored: string, place: VerificationPlace): Verification {
  const what = say`verification of ${place.name}`
  const verification = readStored(stored, shape, what)
  const why = whyNotSealed(verification.seal, {
    text: signedText(verification, place),
    what: say`the word that backup ${place.name} was verified`,
    key: place.key,
  })
  if (why !== '') throw unusable(what, why)
  return verification
}

function signedText(verification: Omit<Verification, 'seal'>, { cluster, lineage, name }: VerificationPlace): string {
  const { formatVersion, verifiedAtMs, restoreMs, gtids, reachedMs, tables, rows, compared = null } = verification
  const { replica, notCompared } = verification
  const whose = ['verified', formatVersion, cluster, lineage, name]
  // Older Regents signed the rest alone.
  const comparison = replica === undefined && notCompared === undefined ? [] : [replica ?? '', notCompared ?? '']
  return JSON.stringify([...whose, verifiedAtMs, restoreMs, gtids, reachedMs, tables, rows, compared, ...comparison])
}

/** The part of a proof that people are shown. */
export function shownProof({ verifiedAtMs, restoreMs, tables, rows, ...rest }: Verification) {
  const { compared, replica, notCompared } = rest
  return {
    ...{ verifiedAtMs, restoreMs, tables, rows },
    ...(compared !== undefined && { compared }),
    ...(replica !== undefined && { replica }),
    ...(notCompared !== undefined && { notCompared }),
  }
}
