import type { Command } from 'commander'
import type { Recovery } from '#failover/protocol/notes.ts'
import { withApi, type ApiOptions } from '#cli/terminal/common-options.ts'
import type { Io } from '#cli/terminal/io.ts'
import { toJson } from '#cli/terminal/json-output.ts'

export function addRecoveries(program: Command, io: Io): void {
  const command = program
    .command('recoveries')
    .description('List what was recovered, newest first; with an id, the timeline of one in milliseconds.')
    .argument('[cluster]', 'the cluster; <namespace>/<name> on Kubernetes')
    .argument('[id]', 'a recovery’s id; may also be given alone')
  withApi(command).action(async (first: string | undefined, second: string | undefined, options: ApiOptions) => {
    const { findPlace } = await import('#cli/connection/connect.ts')
    await using place = await findPlace(io, options, first)
    const alone = first !== undefined && second === undefined && !(await place.isCluster(first))
    const id = alone ? first : second
    const { client, path } = await place.connect(alone ? undefined : first)
    if (id !== undefined)
      return showOne(io, options, await client.get<Recovery>(`${path}/recoveries/${encodeURIComponent(id)}`))
    const recoveries = await client.get<readonly Recovery[]>(`${path}/recoveries`)
    if (options.output === 'json') return io.out(toJson({ recoveries }))
    const { renderRecoveries } = await import('./recovery-tables.ts')
    for (const line of renderRecoveries(recoveries)) io.out(line)
  })
}

async function showOne(io: Io, options: ApiOptions, recovery: Recovery): Promise<void> {
  if (options.output === 'json') return io.out(toJson(recovery))
  const { renderTimeline } = await import('./recovery-tables.ts')
  for (const line of renderTimeline(recovery)) io.out(line)
}
