import type { AgentView } from '#api-contract/agent-view.ts'
import { findPlace } from '../connection/connect.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import type { ApiOptions } from '../terminal/common-options.ts'

export interface LogsOptions extends ApiOptions {
  readonly backup?: string
}

/** What backups and rehearsals said, as the agents that ran them tell. */
export async function showRuns(io: Io, cluster: string | undefined, options: LogsOptions): Promise<void> {
  await using place = await findPlace(io, options, cluster)
  const { client, cluster: name, path } = await place.connect(cluster)
  const said = saidIn(await client.get<readonly AgentView[]>(`${path}/agents`), Date.now(), options.backup)
  if (options.output === 'json') return io.out(toJson({ cluster: name, ...said }))
  for (const { at, instance, sentence } of said.steps) io.out(`${at}  ${instance}  ${sentence}`)
  const which = options.backup === undefined ? 'no backup and no rehearsal' : `no run named ${options.backup}`
  if (said.steps.length === 0)
    io.out(`no agent of ${name} knows anything of it: since the agents started they ran ${which}`)
  for (const { instance, failure } of said.silent) io.note(`what ${instance} ran is not known: ${failure}`)
}

/** @param run of which alone steps are wanted; undefined for all */
export function saidIn(agents: readonly AgentView[], nowMs: number, run?: string) {
  const steps = agents.flatMap(({ instance, runs = [] }) =>
    runs
      .filter(({ name }) => run === undefined || name === run)
      .map(({ agoMs, ...step }) => ({ at: new Date(nowMs - agoMs).toISOString(), instance, ...step })),
  )
  return {
    steps: steps.toSorted((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at))),
    silent: agents.flatMap(({ instance, failure }) => (failure === '' ? [] : [{ instance, failure }])),
  }
}
