import type { TestCluster } from '../support/cluster.ts'
import type { CaseResult } from './report.ts'
import { bothWaysTo } from './routed.ts'
import { measureRouterLoad } from './router-load.ts'
import { measureIdleSessions, measureMovedSessions } from './router-sessions.ts'

const mostMoved = 400

interface RouterOptions {
  readonly runs: number
  /** So many are held idle. */
  readonly sessions: number
  readonly told: (line: string) => void
}

/** What the router of a local cluster takes and adds, beside the primary itself in the same run. */
export async function measureRouter(
  cluster: TestCluster,
  { runs, sessions, told }: RouterOptions,
): Promise<readonly CaseResult[]> {
  // Those of Regent, and of whoever looks, are beside the sessions.
  for (const name of [await cluster.primary(), ...(await cluster.replicas())])
    await cluster.sql(name, `set global max_connections = ${sessions + 1_000}`)
  const ways = await bothWaysTo(cluster)
  const idle = await measureIdleSessions(cluster, ways.routed, sessions)
  const load = await measureRouterLoad(ways, runs, told)
  const moved = Math.min(mostMoved, sessions)
  return [load, idle, await measureMovedSessions(cluster, ways.routed, { moved, runs, told })]
}
