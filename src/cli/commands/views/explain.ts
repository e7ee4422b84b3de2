import type { Command } from 'commander'
import type { AgentView } from '#api-contract/agent-view.ts'
import { clusterReference } from '#cli/terminal/arguments.ts'
import { withApi, type ApiOptions } from '#cli/terminal/common-options.ts'
import type { Io } from '#cli/terminal/io.ts'
import { toJson } from '#cli/terminal/json-output.ts'

interface ExplainOptions extends ApiOptions {
  readonly agents: boolean
}

export function addExplain(program: Command, io: Io): void {
  const command = program
    .command('explain')
    .description(
      'Say why a cluster is as it is: what Regent does or why it does nothing, what is wrong, and what was not chosen.',
    )
    .argument('[cluster]', 'the cluster; <namespace>/<name> on Kubernetes', clusterReference)
    .option(
      '--agents',
      'ask each agent also what it looks after again and again, how its last looks went, and what it got to know last',
      false,
    )
  withApi(command).action(async (cluster: string | undefined, options: ExplainOptions) => {
    const [{ findPlace }, { renderExplanation, section }, { renderAgents }, { paintFor }] = await Promise.all([
      import('#cli/connection/connect.ts'),
      import('./explanation.ts'),
      import('./agents-explained.ts'),
      import('#cli/terminal/paint.ts'),
    ])
    await using place = await findPlace(io, options, cluster)
    const { client, cluster: name, path } = await place.connect(cluster)
    const view = await client.get<Parameters<typeof renderExplanation>[1]>(`${path}/explain`)
    const agents = options.agents ? await client.get<readonly AgentView[]>(`${path}/agents`) : []
    if (options.output === 'json') return io.out(toJson({ name, ...view, ...(options.agents && { agents }) }))
    const lines = [
      ...renderExplanation(name, view, paintFor(io.colour)),
      ...section('the agents', renderAgents(agents)),
    ]
    for (const line of lines) io.out(line)
  })
}
