import type { Command } from 'commander'
import type { TopologyView } from '#api-contract/views.ts'
import { clusterReference } from '#cli/terminal/arguments.ts'
import { withApi, type ApiOptions } from '#cli/terminal/common-options.ts'
import type { Io } from '#cli/terminal/io.ts'
import { toJson } from '#cli/terminal/json-output.ts'
import type { Connection } from '#cli/connection/place.ts'

interface TopologyOptions extends ApiOptions {
  readonly watch?: true
}

export function addTopology(program: Command, io: Io): void {
  const command = program
    .command('topology')
    .description('Show a cluster as a tree: whether it takes writes, who replicates from whom, and what is wrong.')
    .argument('[cluster]', 'the cluster; <namespace>/<name> on Kubernetes', clusterReference)
    .option('--watch', 'go on, and show it again after every change, until Ctrl-C')
  withApi(command).action(async (cluster: string | undefined, options: TopologyOptions) => {
    const { findPlace } = await import('#cli/connection/connect.ts')
    await using place = await findPlace(io, options, cluster)
    const connection = await place.connect(cluster)
    const show = await presenter(io, options)
    if (options.watch !== true) return show(await read(connection))
    const { watchCluster } = await import('./watch.ts')
    await watchCluster(io, connection, async () => show(await read(connection)))
  })
}

async function read({ client, path }: Connection): Promise<TopologyView> {
  return client.get<TopologyView>(`${path}/topology`)
}

async function presenter(io: Io, options: TopologyOptions): Promise<(view: TopologyView) => void> {
  if (options.output === 'json') return (view) => io.out(toJson(view))
  const [{ renderTopology }, { paintFor }] = await Promise.all([
    import('./topology-tree.ts'),
    import('#cli/terminal/paint.ts'),
  ])
  // On a terminal each drawing replaces the one before it; elsewhere they follow each other.
  return (view) => {
    if (options.watch === true) io.clear?.()
    io.out(renderTopology(view, paintFor(io.colour)).join('\n'))
  }
}
