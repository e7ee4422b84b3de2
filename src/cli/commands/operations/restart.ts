import type { Command } from 'commander'
import type { Io } from '#cli/terminal/io.ts'
import { onInstance } from './operation-verbs.ts'

export function addRestart(program: Command, io: Io): void {
  const command = program
    .command('restart')
    .description(
      'Restart mysqld of an instance in order: a primary hands over first, and a replica leaves those that count. ' +
        'Refused while the cluster is paused, and for a primary that nobody can take over from.',
    )
  onInstance(io, command, (ask, instance) => ask('restart', { instance }))
}
