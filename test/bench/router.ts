import type { TestCluster } from '../support/cluster.ts'
import { startMysqlRouter, type MysqlRouter } from './mysql-router.ts'
import { rssOf } from './process-cost.ts'
import type { CaseResult } from './report.ts'
import { measureStatements, waysTo, type Ways } from './routed.ts'
import { measureRouterLoad } from './router-load.ts'
import { measureIdleSessions, measureMovedSessions } from './router-sessions.ts'

const mostMoved = 400

interface RouterOptions {
  readonly runs: number
  /** So many are held idle. */
  readonly sessions: number
  /** MySQL Router leads to the same primary. */
  readonly mysqlRouter: boolean
  readonly told: (line: string) => void
}

/** What the router of a local cluster takes and adds, beside the primary itself in the same run. */
export async function measureRouter(
  cluster: TestCluster,
  { runs, sessions, mysqlRouter, told }: RouterOptions,
): Promise<readonly CaseResult[]> {
  // Those of Regent, and of whoever looks, are beside the sessions.
  for (const name of [await cluster.primary(), ...(await cluster.replicas())])
    await cluster.sql(name, `set global max_connections = ${sessions + 1_000}`)
  const ways = await waysTo(cluster)
  const beside = mysqlRouter ? await startMysqlRouter(ways.direct, told) : undefined
  const load = await measureWays(ways, beside, { runs, told }).finally(() => beside?.stop())
  const routed = ways['through the router']
  const moved = Math.min(mostMoved, sessions)
  const idle = await measureIdleSessions(cluster, routed, sessions)
  return [...load, idle, await measureMovedSessions(cluster, routed, { moved, runs, told })]
}

/** Each way on its own, before anything is moved: MySQL Router leads to the primary of now alone. */
async function measureWays(
  ways: Ways,
  beside: MysqlRouter | undefined,
  { runs, told }: Pick<RouterOptions, 'runs' | 'told'>,
): Promise<readonly CaseResult[]> {
  const all = beside === undefined ? ways : { ...ways, 'through MySQL Router': beside.login }
  const measured = [await measureRouterLoad(all, runs, told), await measureStatements(all)]
  if (beside === undefined) return measured
  const samples = new Map([['after the load', [await rssOf(beside.pid)]]])
  return [...measured, { name: 'memory of MySQL Router, MB', unit: '', samples, lost: 0, acknowledged: 0 }]
}
