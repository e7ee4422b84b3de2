import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from 'mysql2/promise'
import { processesOf } from '#local/processes/cluster-processes.ts'
import type { TestCluster } from '../support/cluster.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { openMany, openSession, queryWithin, type Login } from '../support/sql-session.ts'
import { rssOf } from './process-cost.ts'
import type { CaseResult } from './report.ts'

const deadlineMs = 60_000
const restMs = 2_000
/** A client that is refused comes again after that. */
const againMs = 20

/** What HAProxy and the router take while nobody has a session, and while so many are idle. */
export async function measureIdleSessions(cluster: TestCluster, login: Login, sessions: number): Promise<CaseResult> {
  const processes = await processesOf(cluster.layout.dir)
  const kinds = ['haproxy', 'router'] as const
  const pids = kinds.map((kind) => processes.find((one) => one.kind === kind)?.identity.pid ?? NaN)
  const samples = new Map<string, readonly number[]>()
  const note = async (when: string): Promise<void> => {
    await sleep(restMs)
    const taken = await Promise.all(pids.map(rssOf))
    for (const [at, what] of kinds.entries()) samples.set(`${what}, ${when}`, [taken[at] ?? NaN])
    samples.set(`both, ${when}`, [taken.reduce((sum, one) => sum + one, 0)])
  }
  await note('no session')
  const opened = await openMany(sessions, () => openSession(login, deadlineMs))
  await note(`${sessions} idle sessions`)
  const [held] = await cluster.sql(
    await cluster.primary(),
    `select count(*) as held from information_schema.processlist where user = 'client'`,
  )
  for (const session of opened) session.destroy()
  const there = `${String(held?.['held'])} sessions were at the primary`
  return { name: 'memory of a router, MB', unit: '', samples, lost: 0, acknowledged: 0, note: there }
}

/**
 * So many sessions at a switchover, from the moment the first ends: until the last has ended, and until all have
 * connected again and had an answer. Clients wait with that for the last: on the processors of the servers their logins
 * would be measured.
 */
export async function measureMovedSessions(
  cluster: TestCluster,
  login: Login,
  { moved, runs, told }: { readonly moved: number; readonly runs: number; readonly told: (line: string) => void },
): Promise<CaseResult> {
  const samples = new Map<string, number[]>()
  const add = (what: string, value: number) => samples.set(what, [...(samples.get(what) ?? []), value])
  for (let run = 1; run <= runs; run++) {
    const opened = await openMany(moved, () => openSession(login, deadlineMs))
    await sleep(restMs)
    const over = Promise.all(opened.map(endOf))
    await cluster.switchover()
    const ends = await over
    const firstMs = Math.min(...ends)
    const back = (await Promise.all(opened.map(() => answeredTo(login)))).map((atMs) => atMs - firstMs)
    const endedMs = Math.max(...ends) - firstMs
    const backMs = Math.max(...back)
    add(`all ${moved} have ended`, endedMs)
    add('half of them have an answer again', back.toSorted((a, b) => a - b)[Math.floor(moved / 2)] ?? NaN)
    add('all of them have an answer again', backMs)
    told(`${moved} sessions ${run}/${runs}: ended in ${Math.round(endedMs)} ms, back ${Math.round(backMs)} ms`)
    await cluster.whole()
  }
  return { name: `${moved} sessions, ms after the first ended`, unit: '', samples, lost: 0, acknowledged: 0 }
}

/** When the session was ended at the other side. */
async function endOf(session: Connection): Promise<number> {
  const ended = new Promise((resolve) => session.on('error', resolve).on('end', resolve))
  if ((await Promise.race([ended, sleep(deadlineMs, 'late')])) === 'late') throw new Error('a session did not end')
  session.destroy()
  return monotonicMs()
}

/** When a new session had its first answer. */
async function answeredTo(login: Login): Promise<number> {
  for (;;) {
    try {
      const session = await openSession(login, deadlineMs)
      await queryWithin(session, 'select 1', deadlineMs)
      session.destroy()
      return monotonicMs()
    } catch {
      await sleep(againMs)
    }
  }
}
