import { Option, type Command } from 'commander'
import { clusterArgument, lineArgument } from '../terminal/arguments.ts'
import { storeSaid, withBackupStore, type BackupStoreOptions } from '../backup/store-options.ts'
import type { Io } from '../terminal/io.ts'
import { RegentError } from '#common/errors/errors.ts'
import { withUpOptions, type UpOptions } from './up/up-command.ts'

interface RestoreOptions extends UpOptions, BackupStoreOptions {
  readonly cluster?: string
  readonly backup?: string
}

/** A new cluster out of a backup: `local up` of a cluster that begins so. */
export function addRestore(program: Command, io: Io): void {
  const command = program
    .command('restore')
    .description(
      'Make a new cluster on this machine out of a backup, and return when it takes writes. It has passwords of its own, and nothing is restored over data.',
    )
    .argument('<name>', 'name of the new cluster', clusterArgument)
    .addOption(
      new Option(
        '--cluster <name>',
        'cluster that the backup was made of (default: the name of the new one)',
      ).argParser(lineArgument(103)),
    )
    .addOption(
      new Option('--backup <backup>', '"backup list" shows all (default: the newest)').argParser(lineArgument(64)),
    )
  withUpOptions(withBackupStore(command, 'needed')).action(async (name: string, options: RestoreOptions) => {
    const store = storeSaid(options)
    if (store === undefined)
      throw new RegentError(
        'REGENT_BAD_REQUEST',
        'a restore needs --from: the folder or the bucket where the backups lie, for example --from s3://backups/prod',
      )
    const { restoreLocally } = await import('./restore.ts')
    const { cluster = name, backup } = options
    await restoreLocally(io, name, options, { store, of: cluster, ...(backup === undefined ? {} : { backup }) })
  })
}
