import { Option, type Command } from 'commander'
import { clusterArgument, instanceArgument } from '../arguments.ts'

export function addSql(local: Command): void {
  local
    .command('sql')
    .description('Open the mysql client as admin, at the primary unless told otherwise. Statements can also be piped in.')
    .argument('[name]', 'name of the cluster', clusterArgument)
    .addOption(new Option('--on <instance>', 'the instance to connect to (default: the primary)').argParser(instanceArgument))
    .action(async (name: string | undefined, options: { readonly on?: string }) => {
      const { sql } = await import('./sql.ts')
      await sql(name ?? options.on?.replace(/-\d{1,2}$/, ''), options.on)
    })
}
