import { Option, type Command } from 'commander'
import { clusterArgument, lineArgument } from '../terminal/arguments.ts'
import { storeSaid, withBackupStore, type BackupStoreOptions } from '../backup/store-options.ts'
import type { Io } from '../terminal/io.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { withUpOptions } from './up/up-command.ts'
import type { UpOptions } from './up/up-options.ts'

interface RestoreOptions extends UpOptions, BackupStoreOptions {
  readonly cluster?: string
  readonly backup?: string
  readonly until?: string
  readonly untilGtid?: string
  readonly before?: string
}

/** A new cluster out of a backup: `local up` of a cluster that begins so. */
export function addRestore(program: Command, io: Io): void {
  const command = program
    .command('restore')
    .description(
      'Make a new cluster on this machine out of a backup and the archive behind that: the newest that can be ' +
        'reached, or as of a moment. Returns when it takes writes. It has passwords of its own, and nothing is ' +
        'restored over data.',
    )
    .argument('<name>', 'name of the new cluster', clusterArgument)
    .addOption(
      new Option(
        '--cluster <name>',
        'cluster that the backup was made of (default: the name of the new one)',
      ).argParser(lineArgument(103)),
    )
    .addOption(
      new Option(
        '--backup <backup>',
        'begin with this one, and stop there unless more is said (default: the one with the least to replay)',
      ).argParser(lineArgument(64)),
    )
    .addOption(
      new Option(
        '--until <time>',
        'all that was committed up to the beginning of this second, with its time zone: 2026-11-25T03:12:09Z, 2026-11-25T04:12:09+01:00',
      )
        .argParser(lineArgument(64))
        .conflicts(['untilGtid', 'before']),
    )
    .addOption(
      new Option('--until-gtid <set>', 'all up to these transactions: UUID:1-99')
        .argParser(lineArgument(65_536))
        .conflicts(['until', 'before']),
    )
    .addOption(
      new Option('--before <gtid>', 'everything before this transaction, such as the one that dropped a table: UUID:23')
        .argParser(lineArgument(128))
        .conflicts(['until', 'untilGtid']),
    )
  withUpOptions(withBackupStore(command, 'needed')).action(async (name: string, options: RestoreOptions) => {
    const store = storeSaid(options)
    if (store === undefined)
      throw new RegentError(
        'REGENT_BAD_REQUEST',
        say`a restore needs --from: the folder or the bucket where the backups lie, for example --from s3://backups/prod`,
      )
    const { restoreLocally } = await import('./restore.ts')
    const { cluster: of = name, backup, until, untilGtid: untilGtids, before } = options
    const wanted = Object.entries({ backup, until, untilGtids, before }).filter(([, said]) => said !== undefined)
    await restoreLocally(io, name, options, { store, of, ...Object.fromEntries(wanted) })
  })
}
