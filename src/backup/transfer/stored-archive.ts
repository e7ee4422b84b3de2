import { described } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { isMissing } from '#object-store/missing-object.ts'
import type { Interruptible, ObjectStore } from '#object-store/object-store.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Archive } from '../archive/history.ts'
import { keyOf, parseKey, prefixOf } from '../objects/object-key.ts'
import type { Manifest } from '../objects/manifest.ts'
import { parseOpening, type Opening, type OpeningPlace } from '../objects/opening.ts'
import type { Piece } from '../objects/piece-name.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { isOfContent } from '../objects/stored-json.ts'
import { backupsOf, readManifest, readOutline } from './stored-manifests.ts'
import { textOf } from './text-of.ts'

type Store = Pick<ObjectStore, 'get' | 'list'>

/**
 * The reader of an archive. A restore needs the parts. A restore takes nothing else unasked where a manifest cannot be
 * read, or is listed and gone. A sender passes over such a manifest, and keeps no parts.
 */
export type Reader = 'restore' | 'sender'

/**
 * All objects that tell how far a cluster can be restored. Rejects as the store does, and for a manifest that cannot be
 * used.
 * @param key the keys by which openings must be signed; null where each counts, as for senders
 */
export async function readArchive(
  store: Store,
  cluster: string,
  reader: Reader = 'restore',
  key: KeyRing | null = null,
): Promise<Archive> {
  const manifests: Manifest[] = []
  const read = reader === 'restore' ? readManifest : readOutline
  for (const name of await backupsOf(store, cluster))
    try {
      manifests.push(await read(store, cluster, name))
    } catch (error) {
      if (reader === 'restore' || !(isOfContent(error) || isMissing(error))) throw error
    }
  return { manifests, ...(await readBinlogArchive(store, cluster, key)) }
}

/** The same without the backups. */
export async function readBinlogArchive(
  store: Store,
  cluster: string,
  key: KeyRing | null = null,
): Promise<Omit<Archive, 'manifests'>> {
  const [openings, pieces]: [Opening[], Piece[]] = [[], []]
  const epochs = new Set<number>()
  for await (const { key } of store.list(prefixOf.archive(cluster))) {
    const found = parseKey(key)
    if (found?.kind === 'piece') pieces.push(found.piece)
    if (found?.kind === 'opening') epochs.add(found.epoch)
  }
  for (const epoch of epochs)
    try {
      openings.push(await openingAsFound(store, { cluster, epoch, key }))
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  return { openings, pieces }
}

/**
 * An opening that was changed or cut is not to be believed. The archive is not followed into such an epoch, and is
 * followed into all others. Rejects as the store does.
 */
export async function openingAsFound(store: Pick<ObjectStore, 'get'>, place: OpeningPlace): Promise<Opening> {
  try {
    return await readOpening(store, place)
  } catch (error) {
    if (!isOfContent(error)) throw error
    return { epoch: place.epoch, atMs: 0, gtids: GtidSet.empty, distrust: say`${described(error)}` }
  }
}

/** Rejects as the store does, and as `parseOpening`. */
export async function readOpening(
  store: Pick<ObjectStore, 'get'>,
  place: OpeningPlace,
  options: Interruptible = {},
): Promise<Opening> {
  const { cluster, epoch } = place
  return parseOpening(await textOf(store, keyOf({ kind: 'opening', cluster, epoch }), options), place)
}
