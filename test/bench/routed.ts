import type { Connection } from 'mysql2/promise'
import { readCluster, routerAddress } from '#local/folder/cluster-file.ts'
import type { TestCluster } from '../support/cluster.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { openSession, queryWithin, type Login } from '../support/sql-session.ts'
import type { CaseResult } from './report.ts'

const rounds = 2_000
const deadlineMs = 10_000

/** How clients reach the primary of now: by its own address, by that of the router, and by others. */
export interface Ways {
  readonly direct: Login
  readonly 'through the router': Login
  readonly [other: string]: Login
}

export async function waysTo(cluster: TestCluster): Promise<Ways> {
  const { host, writePort } = routerAddress(await readCluster(cluster.layout.dir))
  const login = { ...(await cluster.login('client')), database: 'app' }
  const primary = await cluster.instance(await cluster.primary())
  return {
    direct: { host: primary.host, port: primary.port, ...login },
    'through the router': { host, port: writePort, ...login },
  }
}

/** What each way adds to one statement: a session each at the same primary, asked in turn. */
export async function measureStatements(ways: Ways): Promise<CaseResult> {
  const opened = await Promise.all(
    Object.entries(ways).map(async ([way, login]) => [way, await openSession(login, deadlineMs)] as const),
  )
  const session = await openSession(ways.direct, deadlineMs)
  await queryWithin(session, 'create table if not exists routed (id int primary key, value int)', deadlineMs)
  await queryWithin(session, 'replace into routed values (1, 0)', deadlineMs)
  const samples = new Map<string, readonly number[]>()
  const statements = {
    'point select': 'select value from routed where id = 1',
    commit: 'update routed set value = value + 1 where id = 1',
  }
  for (const [what, statement] of Object.entries(statements))
    for (const [way, took] of await inTurn(new Map(opened), statement)) samples.set(`${what}, ${way}`, took)
  for (const [, each] of [...opened, ['', session] as const]) each.destroy()
  return { name: 'statement, µs', unit: '', samples, lost: 0, acknowledged: 0 }
}

/**
 * Microseconds of all sessions, in rounds. Each begins as many rounds as the others: replicas still apply the first
 * commit of a round while the next one runs.
 */
async function inTurn(
  sessions: ReadonlyMap<string, Connection>,
  statement: string,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const took = new Map([...sessions.keys()].map((way) => [way, [] as number[]]))
  const order = [...sessions]
  for (let round = 0; round < rounds; round++) {
    for (const [way, session] of order) {
      const beganMs = monotonicMs()
      await queryWithin(session, statement, deadlineMs)
      took.get(way)?.push((monotonicMs() - beganMs) * 1_000)
    }
    order.push(...order.splice(0, 1))
  }
  return took
}
