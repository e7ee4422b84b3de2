import { createHash } from 'node:crypto'
import type { BackupTask } from '#failover/protocol/backup-task.ts'
import { backupFolderOf, type BackupStore } from '#failover/protocol/backup-store.ts'
import type { Parts } from './parts.ts'

/** Where a cluster has its backups. */
export interface BackupPlace {
  /** As the spec names the store. */
  readonly where: Pick<BackupStore, 'address' | 'endpoint'>
  /** The cluster's folder there. */
  readonly cluster: string
}

type State = Pick<Parts, 'file'>

/** So many stores that were used are remembered: the newest ones. */
const remembered = 4

/** The folder of this instance's cluster in a store. */
export function backupPlaceOf(
  { cluster }: Pick<Parts['config'], 'cluster'>,
  { store }: Pick<BackupTask, 'store'>,
): BackupPlace {
  return { where: store, cluster: backupFolderOf({ cluster, store }) }
}

/** Whether this instance has seen that the folder is its cluster's, or has heard that another one did. */
export function isUsed({ file }: State, place: BackupPlace): boolean {
  return file.current.usedStores?.includes(idOf(place)) === true
}

/** On the instance's own volume: what is remembered in the store is gone with the store. */
export async function noteUsed(parts: State, place: BackupPlace): Promise<void> {
  if (isUsed(parts, place)) return
  const { usedStores = [] } = parts.file.current
  await parts.file.update({ usedStores: [idOf(place), ...usedStores].slice(0, remembered) })
}

function idOf({ where: { address, endpoint = '' }, cluster }: BackupPlace): string {
  return createHash('sha256')
    .update(JSON.stringify([address, endpoint, cluster]))
    .digest('hex')
    .slice(0, 16)
}
