import type { Command } from 'commander'
import { clusterReference, lineArgument } from '../terminal/arguments.ts'
import { withApi } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'
import type { LogsOptions } from './logs.ts'

export function addLogs(backup: Command, io: Io): void {
  const command = backup
    .command('logs')
    .description('Show what backups and rehearsals said, step by step, as far as the agents that ran them know.')
    .argument('[cluster]', 'the cluster; <namespace>/<name> on Kubernetes', clusterReference)
    .option('--backup <backup>', 'name of one run (default: all)', lineArgument(64))
  withApi(command).action(async (cluster: string | undefined, options: LogsOptions) => {
    const { showRuns } = await import('./logs.ts')
    await showRuns(io, cluster, options)
  })
}
