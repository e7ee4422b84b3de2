import type { Connection } from 'mysql2/promise'
import { readCluster, routerAddress } from '#local/folder/cluster-file.ts'
import type { TestCluster } from '../support/cluster.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { openSession, queryWithin, type Login } from '../support/sql-session.ts'
import type { CaseResult } from './report.ts'

const rounds = 2_000
const deadlineMs = 10_000

/** How a client reaches the primary of now: its own address, and that of the router. */
export interface BothWays {
  readonly direct: Login
  readonly routed: Login
}

export async function bothWaysTo(cluster: TestCluster): Promise<BothWays> {
  const { host, writePort } = routerAddress(await readCluster(cluster.layout.dir))
  const login = { ...(await cluster.login('client')), database: 'app' }
  const primary = await cluster.instance(await cluster.primary())
  return {
    direct: { host: primary.host, port: primary.port, ...login },
    routed: { host, port: writePort, ...login },
  }
}

/** What the router adds to one statement: two sessions at the same primary, asked in turn. */
export async function measureRouterCost(cluster: TestCluster): Promise<CaseResult> {
  const ways = await bothWaysTo(cluster)
  const direct = await openSession(ways.direct, deadlineMs)
  const routed = await openSession(ways.routed, deadlineMs)
  await queryWithin(direct, 'create table if not exists routed (id int primary key, value int)', deadlineMs)
  await queryWithin(direct, 'replace into routed values (1, 0)', deadlineMs)
  const samples = new Map<string, number[]>()
  const statements = {
    'point select': 'select value from routed where id = 1',
    commit: 'update routed set value = value + 1 where id = 1',
  }
  for (const [what, statement] of Object.entries(statements)) {
    const took = await inTurn(direct, routed, statement)
    samples.set(`${what}, direct`, took.direct)
    samples.set(`${what}, through the router`, took.routed)
  }
  for (const session of [direct, routed]) session.destroy()
  return { name: 'statement, µs', unit: '', samples, lost: 0, acknowledged: 0 }
}

/**
 * Microseconds of both sessions, in pairs. Each begins every other pair: replicas still apply the first commit of a
 * pair while the second one runs.
 */
async function inTurn(
  direct: Connection,
  routed: Connection,
  statement: string,
): Promise<Record<'direct' | 'routed', number[]>> {
  const took = { direct: [] as number[], routed: [] as number[] }
  const one = async (way: 'direct' | 'routed'): Promise<void> => {
    const beganMs = monotonicMs()
    await queryWithin(way === 'direct' ? direct : routed, statement, deadlineMs)
    took[way].push((monotonicMs() - beganMs) * 1_000)
  }
  for (let round = 0; round < rounds; round++) {
    const ways = ['direct', 'routed'] as const
    for (const way of round % 2 === 0 ? ways : ways.toReversed()) await one(way)
  }
  return took
}
