import { Option, type Command } from 'commander'
import { instanceArgument } from '#cli/terminal/arguments.ts'
import type { DryRunOptions } from '#cli/terminal/common-options.ts'
import type { Io } from '#cli/terminal/io.ts'
import { onCluster } from './operation-verbs.ts'

interface FailoverOptions extends DryRunOptions {
  readonly to?: string
  readonly acceptLoss?: true
}

export function addFailover(program: Command, io: Io): void {
  const command = program
    .command('failover')
    .description(
      'Make another instance primary now, although the primary cannot hand over. Refused where an acknowledged write could be lost, unless --accept-loss is given.',
    )
    .addOption(
      new Option('--to <instance>', 'the new primary (default: the one that election chooses)').argParser(
        instanceArgument,
      ),
    )
    .option('--accept-loss', 'go on although acknowledged writes may be lost; the message says which')
  onCluster(io, command, (ask, { to, acceptLoss }: FailoverOptions) => ask('failover', { to, acceptLoss }))
}
