import { Option, type Command } from 'commander'
import { defaultMode, modes } from '#failover/protocol/mode-name.ts'
import { clusterArgument, integerFrom, oneOf, pathArgument, storeArgument } from '#cli/terminal/arguments.ts'
import { orchestratorHosts, withOutput } from '#cli/terminal/common-options.ts'
import type { Io } from '#cli/terminal/io.ts'
import type { UpOptions } from './up-options.ts'

export function addUp(local: Command, io: Io): void {
  const command = local
    .command('up')
    .description(
      'Start a cluster and return when it takes writes. Manager, agents and servers go on in the background; a cluster that was taken down comes back with its data.',
    )
    .argument('[name]', 'name of the cluster', clusterArgument, 'demo')
  withUpOptions(command).action(async (name: string, options: UpOptions) => {
    const { up } = await import('./up.ts')
    await up(io, name, options)
  })
}

/** What may be said of a cluster that is made. */
export function withUpOptions(command: Command): Command {
  return withOutput(
    command
      .addOption(
        new Option('--instances <n>', 'number of instances, 1 to 16 (default: 3)').argParser(integerFrom(1, 16)),
      )
      .addOption(
        new Option(
          '--mode <mode>',
          `how the cluster replicates: ${modes.join(', ')} (default: ${defaultMode})`,
        ).argParser(oneOf(...modes)),
      )
      .addOption(
        new Option(
          '--acks <k>',
          'acknowledgements a write needs, 0 to 15 (default: half of the instances, rounded down)',
        ).argParser(integerFrom(0, 15)),
      )
      .addOption(
        new Option(
          '--durability <durability>',
          'with too few replicas: strict lets writes wait, available lowers the acknowledgements (default: strict)',
        ).argParser(oneOf('strict', 'available')),
      )
      .addOption(
        new Option('--data <dir>', 'folder of the cluster; remembered (default: <name> in REGENT_HOME)').argParser(
          pathArgument,
        ),
      )
      .addOption(
        new Option(
          '--port <port>',
          'port of the API on 127.0.0.1 (default: the first free one from 9500 on)',
        ).argParser(integerFrom(1, 65_535)),
      )
      .addOption(
        new Option(
          '--orchestrator-port <port>',
          'serve orchestrator’s interface on 127.0.0.1 too, to everybody on this machine; remembered (default: none)',
        ).argParser(integerFrom(1, 65_535)),
      )
      .addOption(orchestratorHosts())
      .addOption(
        new Option(
          '--hosts <file>',
          'YAML list of {address, wrapper}, the first for ordinal 0 (default: addresses 127.24.<cluster>.<ordinal+1>, no wrapper)',
        ).argParser(pathArgument),
      )
      .addOption(
        new Option(
          '--config <file>',
          'the cluster’s spec, YAML: docs/reference/configuration.md; options win over it (default: none)',
        ).argParser(pathArgument),
      )
      .addOption(
        new Option(
          '--store <store>',
          'where the record lives: file or redis://host:port, its password in REGENT_REDIS_PASSWORD (default: file)',
        ).argParser(storeArgument),
      )
      .addOption(
        new Option(
          '--router',
          'one address that never changes: 127.24.<cluster>.100, port 3306 for writes, 3307 for reads (default: as it was, at first none)',
        ),
      )
      .addOption(new Option('--no-router', 'take the router of a cluster away that is down'))
      .addOption(
        new Option(
          '--router-config <file>',
          'settings of the router, YAML: docs/guide/router.md (default: as they were)',
        ).argParser(pathArgument),
      ),
  )
}
