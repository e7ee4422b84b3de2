import type { Command } from 'commander'
import { clusterArgument } from './arguments.ts'
import { withApi, type ApiOptions } from './common-options.ts'
import type { Io } from './io.ts'

export function addExplain(program: Command, io: Io): void {
  const command = program
    .command('explain')
    .description('Say why a cluster is as it is: what Regent does or why it does nothing, what is wrong, and what was not chosen.')
    .argument('[cluster]', 'the cluster', clusterArgument)
  withApi(command).action(async (cluster: string | undefined, options: ApiOptions) => {
    const [{ connect }, { renderExplanation }, { paintFor }] = await Promise.all([import('./connect.ts'), import('./explanation.ts'), import('./paint.ts')])
    const { client, cluster: name, path } = await connect(io, options, cluster)
    const view = await client.get<Parameters<typeof renderExplanation>[1]>(`${path}/explain`)
    if (options.output === 'json') return io.out(JSON.stringify(view))
    for (const line of renderExplanation(name, view, paintFor(io.colour))) io.out(line)
  })
}
