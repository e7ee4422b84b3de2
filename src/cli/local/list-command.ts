import type { Command } from 'commander'
import { withOutput, type OutputOptions } from '../common-options.ts'
import type { Io } from '../io.ts'

export function addList(local: Command, io: Io): void {
  const command = local.command('list').description('List the clusters on this machine.')
  withOutput(command).action(async (options: OutputOptions) => {
    const [{ allClusters }, { localStatus }, { describeError }, { renderTable }] = await Promise.all([
      import('../../local/cluster-index.ts'),
      import('./status.ts'),
      import('../../common/errors.ts'),
      import('../table.ts'),
    ])
    const found = await allClusters((dir, error) => io.note(`${dir} is left out: ${describeError(error)}`))
    const clusters = await Promise.all(
      found.map(async (one) => {
        const { name, state, writable, api, primary, instances, dir } = await localStatus(one)
        return { name, state, writable, api, primary: primary?.instance ?? null, instances: instances.length, dir }
      }),
    )
    if (options.output === 'json') return io.out(JSON.stringify(clusters))
    if (clusters.length === 0) return io.out('there is no local cluster; "regent local up" makes one')
    const rows = clusters.map((one) => [one.name, one.state, one.writable === null ? '–' : one.writable ? 'yes' : 'no', one.primary ?? '–', String(one.instances), one.api, one.dir])
    for (const line of renderTable(['name', 'state', 'writable', 'primary', 'instances', 'api', 'folder'], rows)) io.out(line)
  })
}
