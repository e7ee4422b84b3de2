import type { Command } from 'commander'
import { clusterReference } from '../terminal/arguments.ts'
import { withApi, withDryRun, type DryRunOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'

const deadlineMs = 15_000

export function addPause(program: Command, io: Io): void {
  const verbs = [
    [
      'pause',
      'Decide nothing automatically until resume: no failover, no repair. What a person asks for is still done.',
    ],
    ['resume', 'Decide automatically again.'],
  ] as const
  for (const [verb, description] of verbs) {
    const command = program
      .command(verb)
      .description(description)
      .argument('[cluster]', 'the cluster; <namespace>/<name> on Kubernetes', clusterReference)
    withApi(withDryRun(command)).action(async (cluster: string | undefined, options: DryRunOptions) => {
      const { operate } = await import('./operate.ts')
      const body =
        verb === 'pause'
          ? { reason: 'asked for with regent pause', dryRun: options.dryRun }
          : { dryRun: options.dryRun }
      await operate(io, options, cluster, { path: `/${verb}`, body, deadlineMs })
    })
  }
}
