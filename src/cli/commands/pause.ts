import type { Command } from 'commander'
import { clusterReference } from '../terminal/arguments.ts'
import { withApi, withDryRun, type DryRunOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'

export function addPause(program: Command, io: Io): void {
  const pause = program
    .command('pause')
    .description(
      'Decide nothing automatically until resume: no failover, no repair. What a person asks for is still done.',
    )
    .argument('[cluster]', 'the cluster; <namespace>/<name> on Kubernetes', clusterReference)
  withApi(withDryRun(pause)).action(async (cluster: string | undefined, options: DryRunOptions) => {
    const { operate } = await import('./operate.ts')
    const details = { reason: 'asked for with regent pause' }
    await operate(io, options, cluster, { operation: 'pause', details })
  })
  const resume = program
    .command('resume')
    .description('Decide automatically again.')
    .argument('[cluster]', 'the cluster; <namespace>/<name> on Kubernetes', clusterReference)
  withApi(withDryRun(resume)).action(async (cluster: string | undefined, options: DryRunOptions) => {
    const { operate } = await import('./operate.ts')
    await operate(io, options, cluster, { operation: 'resume', details: {} })
  })
}
