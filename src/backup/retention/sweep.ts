import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import type { StoredObject } from '#object-store/object-store.ts'
import type { BackupName } from '../objects/backup-name.ts'
import type { BackupKey } from '../objects/object-key.ts'
import type { Manifest } from '../objects/manifest.ts'
import type { Opening } from '../objects/opening.ts'

/** The content of a cluster's folder. */
export interface Stock {
  readonly objects: readonly StoredObject[]
  /** Manifests that could be read. */
  readonly manifests: readonly Manifest[]
  readonly openings: readonly Opening[]
  /** Verified backups; with a key, only those with a signed proof. */
  readonly verified: ReadonlySet<BackupName>
  /** Backups with a proof beside them that nobody need believe. */
  readonly claimed?: ReadonlySet<BackupName>
  /** Runs to which nothing was written for a day, as a watcher has seen. */
  readonly standing?: ReadonlySet<BackupName>
}

/** Objects that have one fate, for one reason. */
export interface Item {
  readonly kind: 'backup' | 'leftover' | 'archive'
  /** Keys in the order of their deletion. */
  readonly keys: readonly string[]
  readonly bytes: number
  readonly why: Sentence
}

/** The items to be deleted and to be kept, each with its reason. Objects of somebody else are in neither. */
export interface Sweep {
  readonly delete: readonly Item[]
  readonly keep: readonly Item[]
}

/**
 * An item that was to be deleted and stays, since the store locks some of its objects: a retention or a legal hold
 * lasts.
 */
export function keptByLock(item: Item, locked: readonly string[]): Item {
  return { ...item, why: say`${item.why}; the store still locks ${counted(locked.length, 'object')} of that` }
}

/** An object, and the parts of its key. */
export interface Known<K extends BackupKey = BackupKey> {
  readonly key: K
  readonly object: StoredObject
}

const order: readonly BackupKey['kind'][] = ['manifest', 'verified']

/** The manifest is the first key: once it is gone there is no backup any more. */
export function sumOf(objects: readonly Known[]): Pick<Item, 'keys' | 'bytes'> {
  const first = order.flatMap((kind) => objects.filter(({ key }) => key.kind === kind))
  const rest = objects.filter(({ key }) => !order.includes(key.kind))
  const keys = [...first, ...rest].map(({ object }) => object.key)
  return { keys, bytes: objects.reduce((sum, { object }) => sum + object.bytes, 0) }
}
