import type { Command } from 'commander'
import type { Io } from '#cli/terminal/io.ts'
import { onCluster } from './operation-verbs.ts'

export function addPause(program: Command, io: Io): void {
  const pause = program
    .command('pause')
    .description(
      'Decide nothing automatically until resume: no failover, no repair. What a person asks for is still done.',
    )
  onCluster(io, pause, (ask) => ask('pause', { reason: 'asked for with regent pause' }))
  const resume = program.command('resume').description('Decide automatically again.')
  onCluster(io, resume, (ask) => ask('resume', {}))
}
