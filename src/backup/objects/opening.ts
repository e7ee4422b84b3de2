import { exactly, integer, objectOf, optional, text, type Shaped } from '#common/input/shapes.ts'
import { codeOf, described } from '#common/errors/errors.ts'
import { say, type Said } from '#common/sentence/sentence.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { sealOf, sealShape, whyNotSealed } from '../keys/seal.ts'
import { formatVersion, readStored, unusable, writeStored } from './stored-json.ts'
import type { KeyRing } from '../keys/key-ring.ts'

const shape = objectOf({
  formatVersion: exactly(formatVersion),
  epoch: integer(0, 9_999_999_999),
  instance: text(1, 64),
  atMs: integer(0, 9_999_999_999_999),
  gtids: text(0, 16_777_216),
  /** Absent without a key. */
  seal: optional(sealShape),
})

/** An opening as stored. */
export type StoredOpening = Shaped<typeof shape>

/**
 * The beginning of an epoch in the archive: exactly the transactions that its primary had executed at one moment of
 * that epoch, before anybody shipped a piece of that epoch. The primary alone puts the opening there, before the first
 * piece, and only if absent. The first pieces of the epoch bring the transactions among them that earlier epochs did
 * not ship.
 *
 * Names of pieces cannot tell this. Where the old primary died before its last piece was shipped, the first number of
 * the new primary follows as if nothing lacked. And transactions that the old primary shipped look like history, though
 * they were lost with the failover.
 */
export interface Opening {
  readonly epoch: number
  readonly atMs: number
  readonly gtids: GtidSet
  /**
   * The reason why a reader with these keys does not believe the opening; absent or '' where the opening is believed.
   */
  readonly distrust?: Said
}

export interface OpeningPlace {
  readonly cluster: string
  readonly epoch: number
  /** Null where no key is given: then each opening is believed. */
  readonly key: KeyRing | null
}

/** The text to be stored. @param key null where nothing is encrypted */
export function openingText(
  opening: Omit<StoredOpening, 'formatVersion' | 'seal'>,
  { cluster, key }: Omit<OpeningPlace, 'epoch'> = { cluster: '', key: null },
): string {
  if (key === null) return writeStored({ formatVersion, ...opening })
  return writeStored({ formatVersion, ...opening, seal: sealOf(signedText(cluster, opening), key) })
}

function signedText(cluster: string, { epoch, instance, atMs, gtids }: Omit<StoredOpening, 'formatVersion'>): string {
  return JSON.stringify(['opening', cluster, epoch, instance, atMs, gtids])
}

/** @param at the place where the text was found. Throws `REGENT_NEWER_VERSION` or `REGENT_BACKUP_UNUSABLE` */
export function parseOpening(stored: string, { cluster, epoch, key }: OpeningPlace): Opening {
  const what = say`opening of epoch ${epoch}`
  const opening = readStored(stored, shape, what)
  if (opening.epoch !== epoch) throw unusable(what, say`it names epoch ${opening.epoch}`)
  try {
    const distrust = whyNotSealed(opening.seal, {
      text: signedText(cluster, opening),
      what: say`the opening of epoch ${epoch} in the archive`,
      key,
    })
    return { epoch, atMs: opening.atMs, gtids: GtidSet.parse(opening.gtids), distrust }
  } catch (error) {
    if (codeOf(error) !== 'REGENT_BAD_GTID_SET') throw error
    throw unusable(what, described(error))
  }
}
