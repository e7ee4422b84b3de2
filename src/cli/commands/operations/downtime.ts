import { Option, type Command } from 'commander'
import { longestDowntimeMs, shortestDowntimeMs } from '#failover/judge/downtime.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { lineArgument, spanFrom } from '#cli/terminal/arguments.ts'
import type { DryRunOptions } from '#cli/terminal/common-options.ts'
import type { Io } from '#cli/terminal/io.ts'
import { onInstance } from './operation-verbs.ts'

interface DowntimeOptions extends DryRunOptions {
  readonly for?: number
  readonly reason?: string
  readonly owner?: string
  readonly end?: true
}

export function addDowntime(program: Command, io: Io): void {
  const command = program
    .command('downtime')
    .description(
      'Say that trouble of an instance is known and expected for a while: what is wrong with it is shown and ' +
        'calls nobody, and another instance is preferred as primary. Nothing is repaired less, and a primary that ' +
        'fails is failed over as ever.',
    )
    .addOption(
      new Option('--for <duration>', 'how long, with a unit: s, m, h or d; it ends by itself').argParser(
        spanFrom(shortestDowntimeMs, longestDowntimeMs),
      ),
    )
    .addOption(
      new Option('--reason <text>', 'why: shown with everything that is expected').argParser(lineArgument(200)),
    )
    .addOption(
      new Option('--owner <name>', 'who says so (default: USER of the environment)').argParser(lineArgument(100)),
    )
    .addOption(new Option('--end', 'end it before its time').conflicts(['for', 'reason', 'owner']))
  onInstance(io, command, async (ask, instance, options: DowntimeOptions) =>
    options.end ? ask('end-downtime', { instance }) : ask('downtime', { instance, ...beginning(options, io) }),
  )
}

function beginning({ for: forMs, reason, owner }: DowntimeOptions, io: Io) {
  if (forMs === undefined || reason === undefined) {
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`a downtime needs --for and --reason, for example --for 2h --reason "new disk"; --end ends one`,
    )
  }
  return { forMs, reason, owner: owner ?? io.env['USER']?.slice(0, 100) ?? '' }
}
