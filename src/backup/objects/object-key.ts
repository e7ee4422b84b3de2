import { isDeepStrictEqual } from 'node:util'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { secondOf, type BackupName } from './backup-name.ts'
import { parsePieceName, pieceName, type Piece } from './piece-name.ts'

/** What lies below the address of a store, by the name of each object. */
export type BackupKey =
  /** Whose folder this is (`owner.ts`). */
  | { readonly kind: 'owner'; readonly cluster: string }
  /** What a backup is (`manifest.ts`); is written last. */
  | { readonly kind: 'manifest'; readonly cluster: string; readonly name: BackupName }
  /** Who began it, and when; is written first, so that no two runs have one name. */
  | { readonly kind: 'begun'; readonly cluster: string; readonly name: BackupName }
  /** The data; parts are counted from 1. */
  | { readonly kind: 'part'; readonly cluster: string; readonly name: BackupName; readonly part: number }
  /** That the backup was restored once (`verification.ts`). */
  | { readonly kind: 'verified'; readonly cluster: string; readonly name: BackupName }
  /** With what an epoch began (`opening.ts`). */
  | { readonly kind: 'opening'; readonly cluster: string; readonly epoch: number }
  | { readonly kind: 'piece'; readonly cluster: string; readonly piece: Piece }

/** S3 takes no longer ones. */
const longestBytes = 1_024
/** On Kubernetes with its namespace: `shops.shop`. */
const clusterForm = '(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)?[a-z][a-z0-9-]{0,38}'
const form = new RegExp(`^(${clusterForm})/(owner\\.json|base/([^/]+)/([^/]+)|binlog/(\\d{10})/([^/]+))$`)

/** Throws `REGENT_BAD_NAME` where no key can be made of that: `parseKey` would read something else. */
export function keyOf(key: BackupKey): string {
  const text = `${key.cluster}/${withinCluster(key)}`
  if (!isDeepStrictEqual(parseKey(text), key))
    throw new RegentError('REGENT_BAD_NAME', say`"${text.slice(0, 200)}" cannot be the key of an object of backups`)
  return text
}

function withinCluster(key: BackupKey): string {
  switch (key.kind) {
    case 'owner':
      return 'owner.json'
    case 'manifest':
      return `base/${key.name}/manifest.json`
    case 'begun':
      return `base/${key.name}/begun.json`
    case 'part':
      return `base/${key.name}/${partName(key.part)}`
    case 'verified':
      return `base/${key.name}/verified.json`
    case 'opening':
      return `binlog/${paddedEpoch(key.epoch)}/opening.json`
    case 'piece':
      return `binlog/${paddedEpoch(key.piece.epoch)}/${pieceName(key.piece)}`
  }
}

/** Null for what others put there. */
export function parseKey(text: string): BackupKey | null {
  if (Buffer.byteLength(text) > longestBytes) return null
  const [, cluster, within, name, ofBackup, epoch, ofEpoch] = form.exec(text) ?? []
  if (cluster === undefined) return null
  if (within === 'owner.json') return { kind: 'owner', cluster }
  if (name !== undefined && ofBackup !== undefined) return parseOfBackup(cluster, name, ofBackup)
  return parseOfEpoch(cluster, Number(epoch), ofEpoch ?? '')
}

function parseOfBackup(cluster: string, name: string, object: string): BackupKey | null {
  if (secondOf(name) === null) return null
  if (object === 'manifest.json') return { kind: 'manifest', cluster, name }
  if (object === 'begun.json') return { kind: 'begun', cluster, name }
  if (object === 'verified.json') return { kind: 'verified', cluster, name }
  const part = Number(/^part-(\d{6})$/.exec(object)?.[1] ?? 0)
  return part === 0 ? null : { kind: 'part', cluster, name, part }
}

function parseOfEpoch(cluster: string, epoch: number, object: string): BackupKey | null {
  if (object === 'opening.json') return { kind: 'opening', cluster, epoch }
  const piece = parsePieceName(epoch, object)
  return piece === null ? null : { kind: 'piece', cluster, piece }
}

/** `part-000001` */
export function partName(part: number): string {
  return `part-${String(part).padStart(6, '0')}`
}

function paddedEpoch(epoch: number): string {
  return String(epoch).padStart(10, '0')
}

/** What all keys begin with of a cluster, of its backups, of one backup, of its binlog archive. */
export const prefixOf = {
  cluster: (cluster: string) => `${cluster}/`,
  backups: (cluster: string) => `${cluster}/base/`,
  backup: (cluster: string, name: BackupName) => `${cluster}/base/${name}/`,
  archive: (cluster: string) => `${cluster}/binlog/`,
} as const
