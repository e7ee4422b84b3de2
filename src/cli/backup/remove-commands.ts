import { Option, type Command } from 'commander'
import { lineArgument } from '../terminal/arguments.ts'
import { withDryRun, withOutput } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'
import type { RemoveOptions } from './remove.ts'
import { withBackupStore } from './store-options.ts'

const usual = 'default: the store of the local cluster’s spec'

export function addDelete(backup: Command, io: Io): void {
  const command = backup
    .command('delete')
    .description('Delete one backup, its manifest first.')
    .argument('<backup>', 'name of the backup', lineArgument(64))
    .option('--cluster <cluster>', 'that it was made of (default: the only local one)', lineArgument(103))
    .addOption(lineage())
    .option('--force', 'also the newest verified one, the only whole one, or a run that may be under way')
  withOutput(withBackupStore(withDryRun(command), usual)).action(async (name: string, options: RemoveOptions) => {
    const { deleteBackup } = await import('./remove.ts')
    await deleteBackup(io, name, options)
  })
}

export function addPrune(backup: Command, io: Io): void {
  const command = backup
    .command('prune')
    .description(
      'Delete what the retention of the cluster’s spec leaves, and say why of each. Where no cluster of that ' +
        'name is here, the defaults of backup.retention hold: see what they leave by --dry-run.',
    )
    .argument('[cluster]', 'the cluster that they were made of (default: the only local one)', lineArgument(103))
    .addOption(lineage())
  withOutput(withBackupStore(withDryRun(command), usual)).action(
    async (cluster: string | undefined, options: RemoveOptions) => {
      const { pruneBackups } = await import('./remove.ts')
      await pruneBackups(io, cluster, options)
    },
  )
}

function lineage(): Option {
  const text = 'of the cluster, as "regent backup show" says: needed where the cluster does not run here'
  return new Option('--lineage <lineage>', text).argParser(lineArgument(64))
}
