import { codeOf, described } from '#common/errors/errors.ts'
import { say, type Said } from '#common/sentence/sentence.ts'
import { isMissing } from '#object-store/missing-object.ts'
import type { Interruptible, ObjectStore, StoredObject } from '#object-store/object-store.ts'
import type { BackupName } from '../objects/backup-name.ts'
import { parseKey, prefixOf, type BackupKey } from '../objects/object-key.ts'
import type { Manifest } from '../objects/manifest.ts'
import type { Opening } from '../objects/opening.ts'
import { isOfContent } from '../objects/stored-json.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { Stock } from '../retention/sweep.ts'
import { readOpening } from './stored-archive.ts'
import { readOutline, readVerification } from './stored-manifests.ts'

/** The content of a cluster's folder, and why nothing may be deleted by that; '' where something may. */
export interface ReadStock {
  readonly stock: Stock
  readonly whyNot: Said
}

/** The options of a reader. */
export interface StockOptions extends Interruptible {
  /** Keys by which openings and verifications must be signed; null where each counts. */
  readonly key: KeyRing | null
}

/**
 * Reads all that retention goes by. A manifest that was changed or cut is left out, and so is kept. Without the
 * beginning of an epoch no less is kept than with it. An object of a newer Regent may mean what this Regent does not
 * know: nothing is deleted beside such an object, and nothing where the store does not list a manifest that is there.
 * Rejects as the store does.
 */
export async function readStock(
  store: Pick<ObjectStore, 'get' | 'list'>,
  cluster: string,
  options: StockOptions,
): Promise<ReadStock> {
  const listed = new Map<string, StoredObject>()
  // A listing that comes in pages may name an object twice, which then would count for two.
  for await (const object of store.list(prefixOf.cluster(cluster), options)) listed.set(object.key, object)
  const [manifests, openings] = [[] as Manifest[], [] as Opening[]]
  let whyNot: Said = ''
  const found = [...listed.keys()].flatMap((key) => parseKey(key) ?? [])
  for (const key of found) {
    const unread = await readInto({ manifests, openings }, store, key, options)
    whyNot = unread || whyNot
  }
  const claimed = new Set(found.flatMap((key) => (key.kind === 'verified' ? [key.name] : [])))
  const verified = new Set<BackupName>()
  for (const manifest of manifests)
    if (claimed.has(manifest.name) && (await isVerified(store, manifest, options))) verified.add(manifest.name)
  for (const name of runsWithout(found))
    if (await hasManifest(store, { cluster, name }, options))
      whyNot = say`nothing is deleted: the store does not list the manifest of backup ${name}, which is there: its list is late, or lacks some`
  // A false opening would let an epoch seem to begin elsewhere, and pieces seem to be needed by nobody.
  const believed = openings.filter(({ distrust = '' }) => distrust === '')
  return { stock: { objects: [...listed.values()], manifests, openings: believed, verified, claimed }, whyNot }
}

/** Runs whose manifest is not listed. */
function runsWithout(found: readonly BackupKey[]): ReadonlySet<BackupName> {
  const whole = new Set(found.flatMap((key) => (key.kind === 'manifest' ? [key.name] : [])))
  return new Set(found.flatMap((key) => ('name' in key && !whole.has(key.name) ? [key.name] : [])))
}

/** A list that is late would make a leftover of a whole backup. The object itself tells. */
async function hasManifest(
  store: Pick<ObjectStore, 'get'>,
  { cluster, name }: Pick<Manifest, 'cluster' | 'name'>,
  options: Interruptible,
): Promise<boolean> {
  try {
    await readOutline(store, cluster, name, options)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    if (isOfContent(error)) return true
    throw error
  }
}

async function isVerified(
  store: Pick<ObjectStore, 'get'>,
  { cluster, lineage, name }: Manifest,
  { key, ...options }: StockOptions,
): Promise<boolean> {
  try {
    await readVerification(store, { cluster, lineage, name, key }, options)
    return true
  } catch (error) {
    if (isOfContent(error) || isMissing(error)) return false
    throw error
  }
}

/**
 * Why nothing may be deleted beside the object just read; '' otherwise. An object that was changed or cut is left out.
 */
async function readInto(
  { manifests, openings }: { readonly manifests: Manifest[]; readonly openings: Opening[] },
  store: Pick<ObjectStore, 'get'>,
  key: BackupKey,
  options: StockOptions,
): Promise<Said> {
  try {
    if (key.kind === 'opening') openings.push(await readOpening(store, { ...key, key: options.key }, options))
    if (key.kind === 'manifest') manifests.push(await readOutline(store, key.cluster, key.name, options))
    return ''
  } catch (error) {
    if (codeOf(error) === 'REGENT_NEWER_VERSION') return say`nothing is deleted: ${described(error)}`
    if (codeOf(error) === 'REGENT_BACKUP_UNUSABLE') return ''
    throw error
  }
}

/**
 * Deletes in the order of `Item.keys`: a manifest alone and first, so that no backup is there any more. A backup whose
 * manifest is locked stays whole. @returns the keys that stay, since the store locks them
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
