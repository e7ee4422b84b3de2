import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import type { StoredObject } from '#object-store/object-store.ts'
import type { BackupName } from '../objects/backup-name.ts'
import type { BackupKey } from '../objects/object-key.ts'
import type { Manifest } from '../objects/manifest.ts'
import type { Opening } from '../objects/opening.ts'

/** What lies in the folder of a cluster. */
export interface Stock {
  readonly objects: readonly StoredObject[]
  /** Those that could be read. */
  readonly manifests: readonly Manifest[]
  readonly openings: readonly Opening[]
  /** With a key, by what is signed. */
  readonly verified: ReadonlySet<BackupName>
  /** Beside which lies a word that they were verified, which nobody need believe. */
  readonly claimed?: ReadonlySet<BackupName>
}

/** Objects that have one fate, for one reason. */
export interface Item {
  readonly kind: 'backup' | 'leftover' | 'archive'
  /** In the order in which they are deleted. */
  readonly keys: readonly string[]
  readonly bytes: number
  readonly why: Sentence
}

/** What is deleted and what is kept, each with its reason. Objects of somebody else are in neither. */
export interface Sweep {
  readonly delete: readonly Item[]
  readonly keep: readonly Item[]
}

/** What was to be deleted and stays, since the store locks `locked` of that: a retention or a legal hold lasts. */
export function keptByLock(item: Item, locked: readonly string[]): Item {
  return { ...item, why: say`${item.why}; the store still locks ${counted(locked.length, 'object')} of that` }
}

/** One object with what its key says. */
export interface Known<K extends BackupKey = BackupKey> {
  readonly key: K
  readonly object: StoredObject
}

const order: readonly BackupKey['kind'][] = ['manifest', 'verified']

/** The manifest first: from then on no backup is there. */
export function sumOf(objects: readonly Known[]): Pick<Item, 'keys' | 'bytes'> {
  const first = order.flatMap((kind) => objects.filter(({ key }) => key.kind === kind))
  const rest = objects.filter(({ key }) => !order.includes(key.kind))
  const keys = [...first, ...rest].map(({ object }) => object.key)
  return { keys, bytes: objects.reduce((sum, { object }) => sum + object.bytes, 0) }
}
