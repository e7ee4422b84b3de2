import type { Command } from 'commander'
import type { DryRunOptions } from '#cli/terminal/common-options.ts'
import type { Io } from '#cli/terminal/io.ts'
import { onInstance } from './operation-verbs.ts'

interface ReplaceOptions extends DryRunOptions {
  readonly acceptLoss?: true
}

export function addReplace(program: Command, io: Io): void {
  const command = program
    .command('replace')
    .description(
      'Give up an instance whose volume or node is lost, or what only that instance holds: its volume is ' +
        'deleted (on one machine all but its archives), and it is made anew, on Kubernetes wherever there is ' +
        'room, and seeded. Refused where an acknowledged write could be lost, unless --accept-loss is given.',
    )
    .option('--accept-loss', 'go on although acknowledged writes may be lost; the message says which')
  onInstance(io, command, (ask, instance, { acceptLoss }: ReplaceOptions) => ask('replace', { instance, acceptLoss }))
}
