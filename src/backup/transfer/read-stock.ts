import { codeOf, described } from '#common/errors/errors.ts'
import { say, type Said } from '#common/sentence/sentence.ts'
import type { Interruptible, ObjectStore, StoredObject } from '#object-store/object-store.ts'
import type { BackupName } from '../backup-name.ts'
import { parseKey, prefixOf } from '../keys.ts'
import type { Manifest } from '../manifest.ts'
import type { Opening } from '../opening.ts'
import type { Stock } from '../sweep.ts'
import { readOpening } from './stored-archive.ts'
import { readOutline } from './stored-manifests.ts'

/** What lies in the folder of a cluster, and why nothing may be deleted by that; '' where something may. */
export interface ReadStock {
  readonly stock: Stock
  readonly whyNot: Said
}

/**
 * Reads all that retention goes by. A manifest that was changed or cut is left out, and so is kept; one of a newer
 * Regent may mean what this one does not know, and nothing is deleted beside. Rejects as the store does.
 */
export async function readStock(
  store: Pick<ObjectStore, 'get' | 'list'>,
  cluster: string,
  options: Interruptible = {},
): Promise<ReadStock> {
  const objects: StoredObject[] = []
  for await (const object of store.list(prefixOf.cluster(cluster), options)) objects.push(object)
  const [manifests, openings] = [[] as Manifest[], [] as Opening[]]
  let whyNot: Said = ''
  const found = objects.flatMap(({ key }) => parseKey(key) ?? [])
  for (const key of found) {
    if (key.kind === 'opening') openings.push(await readOpening(store, { ...key, key: null }, options))
    if (key.kind !== 'manifest') continue
    const read = await readIfUsable(store, key, options)
    if ('whyNot' in read) whyNot = read.whyNot || whyNot
    else manifests.push(read)
  }
  const verified = new Set(found.flatMap((key) => (key.kind === 'verified' ? [key.name] : [])))
  return { stock: { objects, manifests, openings, verified }, whyNot }
}

async function readIfUsable(
  store: Pick<ObjectStore, 'get'>,
  { cluster, name }: { readonly cluster: string; readonly name: BackupName },
  options: Interruptible,
): Promise<Manifest | { readonly whyNot: Said }> {
  try {
    return await readOutline(store, cluster, name, options)
  } catch (error) {
    if (codeOf(error) === 'REGENT_NEWER_VERSION') return { whyNot: say`nothing is deleted: ${described(error)}` }
    if (codeOf(error) === 'REGENT_BACKUP_UNUSABLE') return { whyNot: '' }
    throw error
  }
}

/**
 * Deletes in the order of `Item.keys`: a manifest alone and first, so that no backup is there any more. Where that is
 * locked the backup stays whole. @returns what stays, since the store locks that
 */
export async function deleteInOrder(
  store: Pick<ObjectStore, 'delete'>,
  keys: readonly string[],
  options: Interruptible = {},
): Promise<readonly string[]> {
  const isAlone = (key: string) => /^(?:manifest|verified)$/.test(parseKey(key)?.kind ?? '')
  const rest = keys.filter((key) => !isAlone(key))
  for (const key of keys.filter(isAlone)) if ((await store.delete([key], options)).length > 0) return keys
  const locked: string[] = []
  for (let at = 0; at < rest.length; at += mostAtOnce)
    locked.push(...(await store.delete(rest.slice(at, at + mostAtOnce), options)))
  return locked
}

const mostAtOnce = 500
