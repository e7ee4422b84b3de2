import { carryOut, type SweepPlan } from '#backup/retention/carry-out.ts'
import { describeSweep, planRetention, storeNowMs, whyStillWriting } from '#backup/retention/plan-retention.ts'
import { parseKey } from '#backup/objects/object-key.ts'
import { sumOf, type Item, type Known, type Stock } from '#backup/retention/sweep.ts'
import { keyOfStore } from '#backup/transfer/read-key-file.ts'
import { deleteInOrder, readStock } from '#backup/transfer/read-stock.ts'
import { RegentError } from '#common/errors/errors.ts'
import { type Said, say } from '#common/sentence/sentence.ts'
import { counted } from '#common/text/words.ts'
import type { ObjectStore } from '#object-store/object-store.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import type { StoredOptions } from './backup-options.ts'
import { opened } from './opened.ts'
import { requireOwn } from './require-own.ts'
import { retentionOf } from './stored.ts'

export interface RemoveOptions extends StoredOptions {
  readonly dryRun?: true
  readonly force?: true
  readonly lineage?: string
}

/**
 * Deletes one backup. Throws `REGENT_REFUSED` for the last that may be the way back, and for a run that may be under
 * way, unless that is forced.
 */
export async function deleteBackup(io: Io, name: string, options: RemoveOptions): Promise<void> {
  const { cluster, store, where } = await opened(options.cluster, options)
  try {
    const { stock } = await readStock(store, cluster, { key: await keyOfStore(where) })
    const known = stock.objects.flatMap((object) => {
      const key = parseKey(object.key)
      return key !== null && 'name' in key && key.name === name ? [{ key, object }] : []
    })
    if (known.length === 0)
      throw new RegentError('REGENT_NOT_FOUND', say`${store.address} has no backup ${name} of ${cluster}`)
    const kept = whyKept(name, stock)
    const why = kept === '' ? whyRunning(name, known, stock) : say`backup ${name} ${kept}`
    if (why !== '' && options.force !== true)
      throw new RegentError('REGENT_REFUSED', say`${why}: --force deletes that all the same`, { remedy: '' })
    const item: Item = {
      kind: 'backup',
      ...sumOf(known),
      why: say`backup ${name} of ${cluster} is deleted by a person`,
    }
    await requireOwnUnlessDry(store, cluster, options.cluster, options)
    await removeBy(io, store, { planned: { delete: [item], keep: [] }, stock }, options)
  } finally {
    store.close()
  }
}

/** Deletes what the rule of the cluster's spec leaves, as the agent of the primary does by itself. */
export async function pruneBackups(io: Io, wanted: string | undefined, options: RemoveOptions): Promise<void> {
  const { cluster, store, where } = await opened(wanted, options)
  try {
    const rule = await retentionOf(wanted, options)
    const { stock, whyNot } = await readStock(store, cluster, { key: await keyOfStore(where) })
    if (whyNot !== '') throw new RegentError('REGENT_REFUSED', whyNot, { remedy: '' })
    await requireOwnUnlessDry(store, cluster, wanted, options)
    await removeBy(io, store, { planned: planRetention(stock, rule, Date.now()), stock }, options)
  } finally {
    store.close()
  }
}

/** A person who may read a store may see what would be deleted. */
async function requireOwnUnlessDry(
  store: ObjectStore,
  folder: string,
  wanted: string | undefined,
  { dryRun, lineage }: RemoveOptions,
): Promise<void> {
  if (dryRun !== true) await requireOwn(store, { folder, wanted, lineage })
}

/** Why this backup is the last of its kind; '' where it is not. */
function whyKept(
  name: string,
  { objects, manifests, verified, claimed = verified }: Pick<Stock, 'objects' | 'manifests' | 'verified' | 'claimed'>,
): string {
  const whole = objects.flatMap(({ key }) => {
    const found = parseKey(key)
    return found?.kind === 'manifest' ? [found.name] : []
  })
  if (whole.length === 1 && whole[0] === name) return 'is the only whole one'
  const newestOf = (some: ReadonlySet<string>) =>
    manifests
      .flatMap((one) => (some.has(one.name) ? [one.name] : []))
      .toSorted()
      .at(-1)
  const proven = newestOf(verified)
  if (proven !== undefined) return proven === name ? 'is the newest that was verified' : ''
  return newestOf(claimed) === name ? 'is the newest of which it is said that it was verified' : ''
}

/** Why it may be under way; '' where it ended, or where nothing was written for long. */
function whyRunning(name: string, known: readonly Known[], { objects }: Pick<Stock, 'objects'>): Said {
  return known.some(({ key }) => key.kind === 'manifest')
    ? ''
    : whyStillWriting(name, known, storeNowMs(objects, Date.now()))
}

/** What the store locks is kept. */
async function removeBy(io: Io, store: ObjectStore, plan: SweepPlan, { dryRun, output }: RemoveOptions): Promise<void> {
  const remove = (item: Item) => deleteInOrder(store, item.keys, { signal: io.interrupted() })
  const sweep = (dryRun === true ? null : await carryOut(plan, remove)) ?? plan.planned
  const shown = (items: readonly Item[]) =>
    items.map(({ kind, keys, bytes, why }) => ({ kind, objects: keys.length, bytes, why: String(why) }))
  if (output === 'json')
    return io.out(toJson({ dryRun: dryRun === true, deleted: shown(sweep.delete), kept: shown(sweep.keep) }))
  for (const line of describeSweep(sweep)) io.out(`${dryRun === true ? 'dry run: ' : ''}${String(line)}`)
  if (sweep.delete.length === 0) io.out(`nothing is to be deleted of ${counted(sweep.keep.length, 'item')}`)
}
