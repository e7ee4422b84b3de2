import { RegentError } from '#common/errors/errors.ts'
import type { BackupToRestore } from '#failover/protocol/backup-store.ts'
import { folderOf } from '#local/clusters/cluster-index.ts'
import { readClusterIfThere } from '#local/folder/cluster-file.ts'
import type { Io } from '../terminal/io.ts'
import type { UpOptions } from './up/up-command.ts'
import { up } from './up/up.ts'

/** Refused where a cluster of that name is there: nothing is restored over data. */
export async function restoreLocally(
  io: Io,
  name: string,
  options: UpOptions,
  restore: BackupToRestore,
): Promise<void> {
  const dir = options.data ?? (await folderOf(name))
  if ((await readClusterIfThere(dir)) !== undefined)
    throw new RegentError(
      'REGENT_REFUSED',
      `${name} is there already, in ${dir}, and nothing is restored over data: choose another name for the new cluster`,
      { remedy: '' },
    )
  await up(io, name, { ...options, restore })
}
