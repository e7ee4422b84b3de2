import { codeOf } from '#common/errors/errors.ts'
import { isMissing } from '#object-store/missing-object.ts'
import type { ObjectStore } from '#object-store/object-store.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Archive } from '../archive/history.ts'
import { keyOf } from '../objects/object-key.ts'
import type { Manifest } from '../objects/manifest.ts'
import { gtidsOf, isIn, type Piece } from '../objects/piece-name.ts'
import { isOfContent } from '../objects/stored-json.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { lookAtHead } from './piece-object.ts'
import { headRange } from './require-keys.ts'

/** The reader of an archive, and its certain knowledge. */
export interface Believer {
  readonly store: Pick<ObjectStore, 'get'>
  readonly cluster: string
  readonly lineage: Manifest['lineage']
  /** Null where nothing is signed. */
  readonly key: KeyRing | null
  /** The transactions that the server has executed, read after the archive. */
  readonly executed: GtidSet
}

/** An object that is not believed: somebody may have put or damaged the object. */
export interface Doubted {
  readonly key: string
  /** The transactions that the object names and the server has not executed. */
  readonly gtids: GtidSet
}

/** Names beyond this number are not checked: a stranger who writes to a store can put thousands there. */
const mostLooks = 64

/**
 * The archive without objects that name transactions which nobody may have executed. By such a name all future
 * transactions would seem to be shipped. Believed are objects whose transactions the server has executed, and pieces
 * whose names a key signed. Each other object is left out as a whole. A sender ships again what the server still has of
 * such an object, which does no harm. Rejects as the store does.
 */
export async function believedBy(
  archive: Archive,
  by: Believer,
): Promise<{ readonly archive: Archive; readonly doubted: readonly Doubted[] }> {
  const { cluster, executed } = by
  const doubted: Doubted[] = []
  const isWithin = (gtids: GtidSet, key: () => string): boolean => {
    if (executed.contains(gtids)) return true
    doubted.push({ key: key(), gtids: gtids.subtract(executed) })
    return false
  }
  const manifests = archive.manifests.filter(({ name, gtids }) =>
    isWithin(GtidSet.parse(gtids), () => keyOf({ kind: 'manifest', cluster, name })),
  )
  const openings = archive.openings.filter(({ epoch, gtids }) =>
    isWithin(gtids, () => keyOf({ kind: 'opening', cluster, epoch })),
  )
  const beyond = archive.pieces.filter((piece) => !isIn(executed, piece))
  const signed = await signedOf(beyond, by)
  const pieces = archive.pieces.filter(
    (piece) =>
      isIn(executed, piece) ||
      signed.has(piece) ||
      isWithin(gtidsOf(piece), () => keyOf({ kind: 'piece', cluster, piece })),
  )
  return { archive: { manifests, openings, pieces }, doubted }
}

async function signedOf(pieces: readonly Piece[], by: Believer): Promise<ReadonlySet<Piece>> {
  const signed = new Set<Piece>()
  if (by.key === null) return signed
  for (const piece of pieces.slice(0, mostLooks)) if (await isSigned(piece, by.key.strict, by)) signed.add(piece)
  return signed
}

async function isSigned(piece: Piece, key: KeyRing, { store, cluster, lineage }: Believer): Promise<boolean> {
  try {
    const stored = store.get(keyOf({ kind: 'piece', cluster, piece }), headRange)
    return (await lookAtHead(stored, { cluster, lineage, piece }, key)).lacks === null
  } catch (error) {
    if (isOfContent(error) || codeOf(error) === 'REGENT_REFUSED' || isMissing(error)) return false
    throw error
  }
}
