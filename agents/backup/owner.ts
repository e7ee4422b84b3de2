import { keyOf } from '#backup/keys.ts'
import { ownerText, parseOwner, whyNotOwner } from '#backup/owner.ts'
import { textOf } from '#backup/transfer/text-of.ts'
import { RegentError } from '#common/errors/errors.ts'
import type { ObjectStore } from '#object-store/object-store.ts'

/**
 * Makes the folder of a cluster's backups its own, or finds that so. Throws `REGENT_REFUSED` where another cluster of
 * that name owns the folder: two would mix their backups, and remove each other's.
 */
export async function claimFolder(
  store: Pick<ObjectStore, 'get' | 'putIfAbsent'>,
  owner: { readonly cluster: string; readonly lineage: string; readonly claimedAtMs: number },
): Promise<void> {
  const { cluster, lineage } = owner
  const key = keyOf({ kind: 'owner', cluster })
  if (await store.putIfAbsent(key, Buffer.from(ownerText({ formatVersion: 1, ...owner })))) return
  const why = whyNotOwner(parseOwner(await textOf(store, key), cluster), cluster, lineage)
  if (why !== '') throw new RegentError('REGENT_REFUSED', why, { remedy: '' })
}
