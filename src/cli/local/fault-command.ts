import { Argument, type Command } from 'commander'
import { faults, isFault } from '../../local/faults/fault-names.ts'
import { instanceArgument } from '../terminal/arguments.ts'
import { withOutput, type OutputOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'

export function addFault(local: Command, io: Io): void {
  const explained = Object.entries(faults).map(([name, what]) => `  ${name.padEnd(13)} ${what}`)
  const command = local
    .command('fault')
    .description('Break an instance on purpose, and mend it again.')
    .argument('<instance>', 'the instance', instanceArgument)
    .addArgument(new Argument('<fault>', 'what to do to it').choices(Object.keys(faults)))
    .addHelpText('after', `\nFaults:\n${explained.join('\n')}`)
  withOutput(command).action(async (instance: string, fault: string, options: OutputOptions) => {
    const [{ findCluster }, { injectFault }, { clusterOfInstance }, { layoutOf }] = await Promise.all([
      import('../../local/clusters/cluster-index.ts'),
      import('../../local/faults/fault.ts'),
      import('../../local/folder/names.ts'),
      import('../../local/folder/state-layout.ts'),
    ])
    const { dir, cluster } = await findCluster(clusterOfInstance(instance))
    if (!isFault(fault)) return
    const sentence = await injectFault(layoutOf(dir), cluster, instance, fault)
    io.out(options.output === 'json' ? toJson({ instance, fault, sentence }) : sentence)
  })
}
