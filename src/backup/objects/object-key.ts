import { isDeepStrictEqual } from 'node:util'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { secondOf, type BackupName } from './backup-name.ts'
import { parsePieceName, pieceName, type Piece } from './piece-name.ts'

/** The objects below the address of a store, by their names. */
export type BackupKey =
  /** The owner of the folder (`owner.ts`). */
  | { readonly kind: 'owner'; readonly cluster: string }
  /** The description of a backup (`manifest.ts`), which is written last. */
  | { readonly kind: 'manifest'; readonly cluster: string; readonly name: BackupName }
  /** The instance that began a backup, which is written first: so no two runs have one name. */
  | { readonly kind: 'begun'; readonly cluster: string; readonly name: BackupName }
  /** The data; parts are counted from 1. */
  | { readonly kind: 'part'; readonly cluster: string; readonly name: BackupName; readonly part: number }
  /** The proof that a backup was restored once (`verification.ts`). */
  | { readonly kind: 'verified'; readonly cluster: string; readonly name: BackupName }
  /** The beginning of an epoch (`opening.ts`). */
  | { readonly kind: 'opening'; readonly cluster: string; readonly epoch: number }
  | { readonly kind: 'piece'; readonly cluster: string; readonly piece: Piece }

/** S3 takes no longer keys. */
const longestBytes = 1_024
/** A cluster on Kubernetes has its namespace before its name: `shops.shop`. */
const clusterForm = '(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)?[a-z][a-z0-9-]{0,38}'
const form = new RegExp(`^(${clusterForm})/(owner\\.json|base/([^/]+)/([^/]+)|binlog/(\\d{10})/([^/]+))$`)

/** Throws `REGENT_BAD_NAME` where no key can be made: `parseKey` would read another key. */
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

/** Gives null for objects that others put there. */
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

/** The beginnings of keys: of a cluster, its backups, one backup, its binlog archive. */
export const prefixOf = {
  cluster: (cluster: string) => `${cluster}/`,
  backups: (cluster: string) => `${cluster}/base/`,
  backup: (cluster: string, name: BackupName) => `${cluster}/base/${name}/`,
  archive: (cluster: string) => `${cluster}/binlog/`,
} as const
