import { Option, type Command } from 'commander'
import { durationFrom, instanceArgument } from '#cli/terminal/arguments.ts'
import type { DryRunOptions } from '#cli/terminal/common-options.ts'
import type { Io } from '#cli/terminal/io.ts'
import { onCluster } from './operation-verbs.ts'

interface SwitchoverOptions extends DryRunOptions {
  readonly from?: string
  readonly to?: string
  readonly timeout?: number
}

export function addSwitchover(program: Command, io: Io): void {
  const command = program
    .command('switchover')
    .description(
      'Hand the primary over to another instance without losing a write. Refused with the reason when it is not possible; undone when it does not end in time.',
    )
    .addOption(
      new Option('--from <instance>', 'refused unless this is the primary (default: whoever is)').argParser(
        instanceArgument,
      ),
    )
    .addOption(
      new Option('--to <instance>', 'the new primary (default: the one that election would choose)').argParser(
        instanceArgument,
      ),
    )
    .addOption(
      new Option(
        '--timeout <duration>',
        'past it the switchover is undone, with a unit: ms, s or m (default: switchover.timeoutMs of the spec, 10s)',
      ).argParser(durationFrom(100, 600_000)),
    )
  onCluster(io, command, (ask, { from, to, timeout }: SwitchoverOptions) =>
    ask('switchover', { from, to, timeoutMs: timeout, reason: 'asked for with regent switchover' }),
  )
}
