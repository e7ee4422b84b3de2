import { keyOf, prefixOf } from '#backup/objects/object-key.ts'
import { ownerText, parseOwner, whyNotOwner } from '#backup/objects/owner.ts'
import { textOf } from '#backup/transfer/text-of.ts'
import { RegentError } from '#common/errors/errors.ts'
import { ownerOf } from '#backup/transfer/stored-owner.ts'
import { say, text } from '#common/sentence/sentence.ts'
import type { Interruptible, ObjectStore } from '#object-store/object-store.ts'
import type { Parts } from '../instance/parts.ts'
import { isUsed, noteUsed, type BackupPlace } from '../instance/used-stores.ts'

/** The place of a cluster's backups, and the cluster's identity. */
export interface Folder extends BackupPlace {
  readonly lineage: string
}

type State = Pick<Parts, 'file'>

/**
 * Makes the folder of a cluster's backups its own, or finds that so. Throws `REGENT_REFUSED` where another cluster of
 * that name owns the folder: two clusters would mix their backups, and remove each other's. Throws the same where a
 * folder that was used is empty. A disk that is not mounted leaves an empty folder, and the disk below would be filled
 * unnoticed.
 */
export async function claimFolder(
  parts: Pick<Parts, 'file' | 'world'>,
  store: Pick<ObjectStore, 'address' | 'get' | 'list' | 'putIfAbsent'>,
  folder: Folder,
): Promise<void> {
  const { cluster, lineage } = folder
  await requireStillThere(parts, store, folder)
  const key = keyOf({ kind: 'owner', cluster })
  const claim = ownerText({ formatVersion: 1, cluster, lineage, claimedAtMs: parts.world.clock.wallMs() })
  if (!(await store.putIfAbsent(key, Buffer.from(claim)))) {
    const why = whyNotOwner(parseOwner(await textOf(store, key), cluster), cluster, lineage)
    if (why !== '') throw new RegentError('REGENT_REFUSED', why, { remedy: '' })
  }
  await noteUsed(parts, folder)
}

/** Throws `REGENT_REFUSED` where this instance has seen the cluster's folder, and the folder is empty. */
export async function requireStillThere(
  parts: State,
  store: Pick<ObjectStore, 'address' | 'get' | 'list'>,
  folder: Folder,
  options: Interruptible = {},
): Promise<void> {
  const { cluster } = folder
  if (!isUsed(parts, folder) || (await ownerOf(store, cluster, options)) !== null) return
  for await (const { key } of store.list(prefixOf.cluster(cluster), options)) if (key !== '') return
  const empty = say`store of backups ${text(store.address)} is empty, where this cluster had folder ${cluster}/`
  throw new RegentError(
    'REGENT_REFUSED',
    say`${empty}: mount its disk again; if all was deleted on purpose, name another folder (store.folder)`,
    { remedy: '' },
  )
}
