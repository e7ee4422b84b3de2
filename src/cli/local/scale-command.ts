import type { Command } from 'commander'
import { integerFrom } from '../terminal/arguments.ts'
import { withDryRun, withOutput, type OutputOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'

/** A scale-out seeds new instances. */
const deadlineMs = 600_000

export function addScale(local: Command, io: Io): void {
  const command = local
    .command('scale')
    .description(
      'Change the number of instances. A primary among the leavers hands over first; volumes of leavers are kept.',
    )
    .argument('[name]', 'name of the cluster')
    .argument('[n]', 'number of instances, 1 to 16; may also be given alone')
    .option('--wait', 'return once so many instances are there and the cluster is whole; 10 minutes at most')
  withOutput(withDryRun(command)).action(
    async (
      first: string | undefined,
      second: string | undefined,
      options: OutputOptions & { readonly dryRun?: true; readonly wait?: true },
    ) => {
      const { name, count } = nameAndCount(command, first, second)
      const [{ findCluster }, { instancesFor }, { operate }] = await Promise.all([
        import('#local/clusters/cluster-index.ts'),
        import('#local/folder/cluster-file.ts'),
        import('../commands/operations/operate.ts'),
      ])
      const { dir, cluster } = await findCluster(name)
      // Refused here with its reason rather than half-way: --hosts may have named too few.
      instancesFor(dir, cluster, count)
      await operate({ ...io, env: {} }, options, cluster.name, {
        operation: 'scale',
        details: { instances: count },
      })
      if (options.wait !== true || options.dryRun === true) return
      const { waitUntilWhole } = await import('./up/wait-until-whole.ts')
      await waitUntilWhole(io, { dir, cluster }, { instances: count, deadlineMs })
    },
  )
}

function nameAndCount(
  command: Command,
  first: string | undefined,
  second: string | undefined,
): { name: string | undefined; count: number } {
  const text = second ?? first
  if (text === undefined) return command.error("error: missing required argument 'n', the number of instances")
  try {
    return { name: second === undefined ? undefined : first, count: integerFrom(1, 16)(text) }
  } catch (error) {
    return command.error(
      `error: '${text.slice(0, 60)}' is not taken for <n>. ${error instanceof Error ? error.message : ''}`,
    )
  }
}
