import type { Command } from 'commander'
import { pathArgument } from '../terminal/arguments.ts'

/** What `local up` starts in the background; hidden, since nobody else has a reason to. */
export function addSupervise(local: Command): void {
  local
    .command('supervise', { hidden: true })
    .description('Keep the processes of the cluster in a folder running.')
    .argument('<dir>', 'the cluster’s folder', pathArgument)
    .action(async (dir: string) => {
      const { supervise } = await import('./supervise.ts')
      await supervise(dir)
    })
}
