import type { Command } from 'commander'
import { instanceIn, instanceReference } from '../terminal/arguments.ts'
import { withApi, withDryRun, type DryRunOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'

interface ReplaceOptions extends DryRunOptions {
  readonly acceptLoss?: true
}

export function addReplace(program: Command, io: Io): void {
  const command = program
    .command('replace')
    .description(
      'Give up an instance whose volume or node is lost, or what only that instance holds: its volume is deleted (on one machine all but its archives), and it is made anew, on Kubernetes wherever there is room, and seeded. Refused where an acknowledged write could be lost, unless --accept-loss is given.',
    )
    .argument('<instance>', 'the instance; <namespace>/<name> on Kubernetes', instanceReference)
    .option('--accept-loss', 'go on although acknowledged writes may be lost; the message says which')
  withApi(withDryRun(command)).action(async (reference: string, options: ReplaceOptions) => {
    const { operate } = await import('./operate.ts')
    const { cluster, instance } = instanceIn(reference)
    await operate(io, options, cluster, { operation: 'replace', details: { instance, acceptLoss: options.acceptLoss } })
  })
}
