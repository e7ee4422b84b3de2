import type { Command } from 'commander'
import type { Io } from '#cli/terminal/io.ts'
import { onInstance } from './operation-verbs.ts'

export function addReseed(program: Command, io: Io): void {
  const command = program
    .command('reseed')
    .description(
      'Let an instance that cannot follow as it is become a copy of another, where the policy leaves that to ' +
        'people (reseed: manual, as on adopted servers): what only this instance has is archived, and all its ' +
        'data are replaced. Refused for an instance that follows.',
    )
  onInstance(io, command, (ask, instance) => ask('reseed', { instance }))
}
