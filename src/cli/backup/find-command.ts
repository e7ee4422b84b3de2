import { Option, type Command } from 'commander'
import { findKinds } from '#backup/restore/finder.ts'
import { lineArgument } from '../terminal/arguments.ts'
import { withApi } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'
import type { FindOptions } from './find.ts'
import { clusterAsked, storeAsked, withBackupStore } from './store-options.ts'

/** "Somebody dropped a table": which transaction was that? */
export function addFind(backup: Command, io: Io): void {
  const command = backup
    .command('find')
    .description('Find in the archive of binlogs which transactions did something to a table.')
    .argument('[cluster]', `the cluster whose archive is read ${clusterAsked}`, lineArgument(103))
    .addOption(
      new Option('--table <table>', 'schema.table, or schema.* for all of a schema')
        .argParser(lineArgument(130))
        .makeOptionMandatory(),
    )
    .addOption(new Option('--kind <kind>', 'what was done (default: anything)').choices(findKinds))
    .addOption(
      new Option('--since <time>', 'committed at this second or later: 2026-11-25T03:12:09Z').argParser(
        lineArgument(64),
      ),
    )
    .addOption(
      new Option('--until <time>', 'committed at this second or before: 2026-11-25T04:12:09+01:00').argParser(
        lineArgument(64),
      ),
    )
  withApi(withBackupStore(command, storeAsked)).action(async (cluster: string | undefined, options: FindOptions) => {
    const { findBy } = await import('./find.ts')
    await findBy(io, cluster, options)
  })
}
