import type { Command } from 'commander'
import { clusterArgument } from '../terminal/arguments.ts'
import { withOutput, type OutputOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'

export function addDown(local: Command, io: Io): void {
  const command = local
    .command('down')
    .description('Stop everything of a cluster; its data stays, and "local up" brings it back.')
    .argument('[name]', 'name of the cluster', clusterArgument)
    .option('--purge', 'remove its data, logs and secrets as well')
  withOutput(command).action(async (name: string | undefined, options: OutputOptions & { readonly purge?: true }) => {
    const { down } = await import('./down.ts')
    await down(io, name, options.purge === true, options.output)
  })
}
