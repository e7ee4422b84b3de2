import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { backupFolderOf, type BackupStore } from '#failover/protocol/backup-store.ts'
import { findCluster } from '#local/clusters/cluster-index.ts'
import { readSpec } from '#local/folder/spec-file.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import type { ObjectStore } from '#object-store/object-store.ts'
import type { StoredOptions } from './backup-options.ts'
import { storeSaid } from './store-options.ts'

/** The store that is meant, with the folder of the cluster there. */
export async function opened(
  wanted: string | undefined,
  options: StoredOptions,
): Promise<{ readonly cluster: string; readonly store: ObjectStore; readonly where: BackupStore }> {
  const said = storeSaid(options)
  if (said !== undefined && wanted !== undefined)
    return { cluster: wanted, store: await openBackupStore(said), where: said }
  const { dir, cluster } = await findCluster(wanted)
  const where = said ?? (await storeOf(dir, cluster.name))
  return {
    cluster: backupFolderOf({ cluster: cluster.name, store: where }),
    store: await openBackupStore(where),
    where,
  }
}

async function storeOf(dir: string, name: string): Promise<BackupStore> {
  const { backup } = await readSpec(layoutOf(dir), name)
  if (backup !== undefined) return backup.store
  throw new RegentError(
    'REGENT_REFUSED',
    say`the spec of ${name} names no store of backups: give --from, or backup.store in the spec`,
    { remedy: '' },
  )
}
