import type { Command } from 'commander'
import { clusterReference } from '../terminal/arguments.ts'
import { withApi, type ApiOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'

export function addExplain(program: Command, io: Io): void {
  const command = program
    .command('explain')
    .description(
      'Say why a cluster is as it is: what Regent does or why it does nothing, what is wrong, and what was not chosen.',
    )
    .argument('[cluster]', 'the cluster; <namespace>/<name> on Kubernetes', clusterReference)
  withApi(command).action(async (cluster: string | undefined, options: ApiOptions) => {
    const [{ findPlace }, { renderExplanation }, { paintFor }] = await Promise.all([
      import('../connection/connect.ts'),
      import('./explanation.ts'),
      import('../terminal/paint.ts'),
    ])
    await using place = await findPlace(io, options, cluster)
    const { client, cluster: name, path } = await place.connect(cluster)
    const view = await client.get<Parameters<typeof renderExplanation>[1]>(`${path}/explain`)
    if (options.output === 'json') return io.out(toJson({ name, ...view }))
    for (const line of renderExplanation(name, view, paintFor(io.colour))) io.out(line)
  })
}
