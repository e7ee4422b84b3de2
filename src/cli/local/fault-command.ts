import { Argument, type Command } from 'commander'
import { faults, isFault } from '#local/faults/fault-names.ts'
import { instanceOrPrimary } from '../terminal/arguments.ts'
import { withOutput, type OutputOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'

export function addFault(local: Command, io: Io): void {
  const explained = Object.entries(faults).map(([name, what]) => `  ${name.padEnd(13)} ${what}`)
  const command = local
    .command('fault')
    .description('Break an instance on purpose, and mend it again.')
    .argument('<instance>', 'the instance; "primary", or "<cluster>/primary", for whoever leads now', instanceOrPrimary)
    .addArgument(new Argument('<fault>', 'what to do to it').choices(Object.keys(faults)))
    .addHelpText('after', `\nFaults:\n${explained.join('\n')}`)
  withOutput(command).action(async (named: string, fault: string, options: OutputOptions) => {
    const [{ injectFault }, { instanceNamed }, { layoutOf }] = await Promise.all([
      import('#local/faults/fault.ts'),
      import('./instance-named.ts'),
      import('#local/folder/state-layout.ts'),
    ])
    const { dir, cluster, instance } = await instanceNamed(named)
    if (!isFault(fault)) return
    const sentence = await injectFault(layoutOf(dir), cluster, instance, fault)
    io.out(options.output === 'json' ? toJson({ instance, fault, sentence }) : sentence)
  })
}
