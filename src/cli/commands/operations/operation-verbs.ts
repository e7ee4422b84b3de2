import type { Command } from 'commander'
import type { OperationDetails, OperationName } from '#api-contract/operations.ts'
import { clusterReference, instanceReference } from '#cli/terminal/arguments.ts'
import { withApi, withDryRun, type DryRunOptions } from '#cli/terminal/common-options.ts'
import type { Io } from '#cli/terminal/io.ts'

type Ask = <N extends OperationName>(operation: N, details: OperationDetails<N>) => Promise<void>

/** Makes the verb ask for an operation on a cluster. */
export function onCluster<Options extends DryRunOptions>(
  io: Io,
  verb: Command,
  run: (ask: Ask, options: Options) => Promise<void>,
): void {
  verb.argument('[cluster]', 'the cluster; <namespace>/<name> on Kubernetes', clusterReference)
  withApi(withDryRun(verb)).action((cluster: string | undefined, options: Options) =>
    run(askOf(io, options, cluster), options),
  )
}

/** Makes the verb ask for an operation on an instance. */
export function onInstance<Options extends DryRunOptions>(
  io: Io,
  verb: Command,
  run: (ask: Ask, instance: string, options: Options) => Promise<void>,
): void {
  verb.argument('<instance>', 'the instance; <namespace>/<name> on Kubernetes', instanceReference)
  withApi(withDryRun(verb)).action((reference: string, options: Options) =>
    run(askOf(io, options, reference.replace(/-\d{1,2}$/, '')), reference.replace(/^.*\//, ''), options),
  )
}

function askOf(io: Io, options: DryRunOptions, cluster: string | undefined): Ask {
  return async (operation, details) => {
    const { operate } = await import('./operate.ts')
    await operate(io, options, cluster, { operation, details })
  }
}
