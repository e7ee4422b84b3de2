import { Option, type Command } from 'commander'
import { clusterArgument, integerFrom, pathArgument } from '../terminal/arguments.ts'
import type { Io } from '../terminal/io.ts'
import { optionsOf } from './options-of.ts'
import type { ManageOptions } from './managed.ts'

/** From watching to managing, and back. */
export function addManaged(program: Command, io: Io): void {
  const adopt =
    program.commands.find((command) => command.name() === 'adopt') ??
    program.command('adopt').description('MySQL servers that are there already.')
  adopt
    .command('manage')
    .description(
      'Manage adopted servers: first say what is missing, and change nothing until all is there; then start their agents, here.',
    )
    .argument('<name>', 'name of the cluster', clusterArgument)
    .addOption(new Option('--file <file>', 'the hosts file (default: what was adopted)').argParser(pathArgument))
    .option('--check', 'only say what is missing')
    .addOption(
      new Option(
        '--port <port>',
        'port of the manager’s API on this machine (default: the first free one from 9500 on)',
      ).argParser(integerFrom(1, 65_535)),
    )
    // What "adopt" has too, --check and --port, is parsed there, wherever the option stands.
    .action(async (name: string, _: unknown, own: Command) =>
      (await import('./managed.ts')).manage(io, name, optionsOf<ManageOptions>(own)),
    )
  adopt
    .command('watch')
    .description('Manage these servers no more, and watch them: agents and manager end, the servers go on as they are.')
    .argument('<name>', 'name of the cluster', clusterArgument)
    .addOption(new Option('--file <file>', 'the hosts file (default: what was adopted)').argParser(pathArgument))
    .action(async (name: string, _: unknown, own: Command) =>
      (await import('./managed.ts')).watchAgain(io, name, optionsOf<ManageOptions>(own)),
    )
}
