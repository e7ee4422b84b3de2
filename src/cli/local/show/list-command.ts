import type { Command } from 'commander'
import { withOutput, type OutputOptions } from '#cli/terminal/common-options.ts'
import type { Io } from '#cli/terminal/io.ts'
import { counted } from '#common/text/words.ts'

export function addList(local: Command, io: Io): void {
  const command = local.command('list').description('List the clusters on this machine.')
  withOutput(command).action(async (options: OutputOptions) => {
    const [{ allClusters, orphanedClusters }, { localStatus }, { describeError }, { renderTable }, { toJson }] =
      await Promise.all([
        import('#local/clusters/cluster-index.ts'),
        import('./status.ts'),
        import('#common/errors/errors.ts'),
        import('#cli/terminal/table.ts'),
        import('#cli/terminal/json-output.ts'),
      ])
    const leftOut = (dir: string, error: unknown) => io.note(`${dir} is left out: ${describeError(error)}`)
    const [found, orphans] = await Promise.all([allClusters(leftOut), orphanedClusters()])
    const known = await Promise.all(
      found.map(async (one) => {
        const { name, state, writable, api, primary, instances, dir } = await localStatus(one)
        return { name, state, writable, api, primary: primary?.instance ?? null, instances: instances.length, dir }
      }),
    )
    const lost = orphans.map(({ name, dir, processes }) => {
      io.note(
        `${name} has ${counted(processes, 'process')}, and ${dir} was removed; "regent local down ${name}" ends what is left`,
      )
      return { name, state: 'orphaned' as const, writable: null, api: null, primary: null, instances: null, dir }
    })
    const clusters = [...known, ...lost]
    if (options.output === 'json') return io.out(toJson({ clusters }))
    if (clusters.length === 0) return io.out('there is no local cluster; "regent local up" makes one')
    const rows = clusters.map((one) => [
      one.name,
      one.state,
      one.writable === null ? '–' : one.writable ? 'yes' : 'no',
      one.primary ?? '–',
      String(one.instances ?? '–'),
      one.api ?? '–',
      one.dir,
    ])
    for (const line of renderTable(['name', 'state', 'writable', 'primary', 'instances', 'api', 'folder'], rows))
      io.out(line)
  })
}
