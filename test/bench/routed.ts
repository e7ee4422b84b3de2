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
    const took = await inTurn([direct, routed], statement)
    samples.set(
      `${what}, direct`,
      took.map(([us]) => us ?? NaN),
    )
    samples.set(
      `${what}, through the router`,
      took.map(([, us]) => us ?? NaN),
    )
  }
  for (const session of [direct, routed]) session.destroy()
  return { name: 'statement, µs', unit: '', samples, lost: 0, acknowledged: 0 }
}

/** Microseconds of each session, round by round. */
async function inTurn(sessions: readonly Connection[], statement: string): Promise<readonly (readonly number[])[]> {
  const took: number[][] = []
  for (let round = 0; round < rounds; round++) {
    const us: number[] = []
    for (const session of sessions) {
      const beganMs = monotonicMs()
      await queryWithin(session, statement, deadlineMs)
      us.push((monotonicMs() - beganMs) * 1_000)
    }
    took.push(us)
  }
  return took
}
