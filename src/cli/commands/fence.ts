import type { Command } from 'commander'
import { instanceIn, instanceReference } from '../terminal/arguments.ts'
import { withApi, withDryRun, type DryRunOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'

export function addFence(program: Command, io: Io): void {
  const fence = program
    .command('fence')
    .description(
      'Force an instance read-only and end its sessions until it is unfenced. A primary is switched over first.',
    )
    .argument('<instance>', 'the instance; <namespace>/<name> on Kubernetes', instanceReference)
    .option(
      '--keep-primary',
      'fence the primary where it is: a deliberate outage, and nothing fails over until unfence',
    )
  withApi(withDryRun(fence)).action(
    async (reference: string, options: DryRunOptions & { readonly keepPrimary?: true }) => {
      const { operate } = await import('./operate.ts')
      const { cluster, instance } = instanceIn(reference)
      const details = { instance, keepPrimary: options.keepPrimary }
      await operate(io, options, cluster, { operation: 'fence', details })
    },
  )
  const unfence = program
    .command('unfence')
    .description('Take a fence away.')
    .argument('<instance>', 'the instance; <namespace>/<name> on Kubernetes', instanceReference)
  withApi(withDryRun(unfence)).action(async (reference: string, options: DryRunOptions) => {
    const { operate } = await import('./operate.ts')
    const { cluster, instance } = instanceIn(reference)
    await operate(io, options, cluster, { operation: 'unfence', details: { instance } })
  })
}
