import type { Command } from 'commander'
import type { DryRunOptions } from '#cli/terminal/common-options.ts'
import type { Io } from '#cli/terminal/io.ts'
import { onInstance } from './operation-verbs.ts'

interface FenceOptions extends DryRunOptions {
  readonly keepPrimary?: true
}

export function addFence(program: Command, io: Io): void {
  const fence = program
    .command('fence')
    .description(
      'Force an instance read-only and end its sessions until it is unfenced. A primary is switched over first.',
    )
    .option(
      '--keep-primary',
      'fence the primary where it is: a deliberate outage, and nothing fails over until unfence',
    )
  onInstance(io, fence, (ask, instance, { keepPrimary }: FenceOptions) => ask('fence', { instance, keepPrimary }))
  const unfence = program.command('unfence').description('Take a fence away.')
  onInstance(io, unfence, (ask, instance) => ask('unfence', { instance }))
}
