import { Option, type Command } from 'commander'
import { clusterReference, instanceArgument } from '../terminal/arguments.ts'
import { withApi, withDryRun, type DryRunOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'

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
    .argument('[cluster]', 'the cluster; <namespace>/<name> on Kubernetes', clusterReference)
    .addOption(
      new Option('--to <instance>', 'the new primary (default: the one that election chooses)').argParser(
        instanceArgument,
      ),
    )
    .option('--accept-loss', 'go on although acknowledged writes may be lost; the message says which')
  withApi(withDryRun(command)).action(async (cluster: string | undefined, options: FailoverOptions) => {
    const { operate } = await import('./operate.ts')
    await operate(io, options, cluster, {
      operation: 'failover',
      details: { to: options.to, acceptLoss: options.acceptLoss },
    })
  })
}
