import { Option, type Command } from 'commander'
import type { DumpOptions } from './dump.ts'
import type { SqlOptions } from './sql.ts'
import { clusterArgument, instanceArgument, pathArgument } from '#cli/terminal/arguments.ts'

const onInstance = () =>
  new Option('--on <instance>', 'the instance to connect to (default: the primary)').argParser(instanceArgument)

export function addSql(local: Command): void {
  local
    .command('sql')
    .description(
      'Open the mysql client as admin, at the primary unless told otherwise. Statements can also be piped in.',
    )
    .argument('[name]', 'name of the cluster', clusterArgument)
    .addOption(onInstance())
    .addOption(
      new Option('--file <file>', 'run the statements of this file, such as a dump, and end').argParser(pathArgument),
    )
    .addOption(new Option('-e, --execute <statements>', 'run these statements, and end').conflicts('file'))
    .action(async (name: string | undefined, options: SqlOptions) => {
      const { sql } = await import('./sql.ts')
      await sql(name ?? clusterFrom(options.on), options)
    })
}

export function addDump(local: Command): void {
  local
    .command('dump')
    .description(
      'Write all databases as SQL that "local sql --file" reads in, at this cluster or another: one moment of ' +
        'all tables, without GTIDs and without a lock that writes wait for. Accounts are not in it.',
    )
    .argument('[name]', 'name of the cluster', clusterArgument)
    .addOption(onInstance())
    .option('--table <schema.table>', "only this table, or this schema: 'app.*'")
    .addOption(
      new Option('--file <file>', 'where to write it, readable for you alone (default: standard output)').argParser(
        pathArgument,
      ),
    )
    .action(async (name: string | undefined, options: DumpOptions) => {
      const { dump } = await import('./dump.ts')
      await dump(name ?? clusterFrom(options.on), options)
    })
}

function clusterFrom(instance: string | undefined): string | undefined {
  return instance?.replace(/-\d{1,2}$/, '')
}
