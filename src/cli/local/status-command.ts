import type { Command } from 'commander'
import { clusterArgument } from '../terminal/arguments.ts'
import { withOutput, type OutputOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'

export function addStatus(local: Command, io: Io): void {
  const command = local
    .command('status')
    .description('Say how to connect to a cluster, and which processes are its.')
    .argument('[name]', 'name of the cluster', clusterArgument)
    .option('--show-password', 'print the password of the client’s account too')
  withOutput(command).action(
    async (name: string | undefined, options: OutputOptions & { readonly showPassword?: true }) => {
      const [{ findCluster }, { printStatus }] = await Promise.all([
        import('#local/clusters/cluster-index.ts'),
        import('./status.ts'),
      ])
      await printStatus(io, await findCluster(name), options)
    },
  )
}
