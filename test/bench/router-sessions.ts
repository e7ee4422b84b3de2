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
 * connected again and had an answer.
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
    const over = Promise.all(opened.map((session) => movedOf(session, login)))
    await cluster.switchover()
    const times = await over
    const firstMs = Math.min(...times.map(({ endedMs }) => endedMs))
    const endedMs = Math.max(...times.map((one) => one.endedMs)) - firstMs
    const backMs = times.map((one) => one.againMs - firstMs)
    add(`all ${moved} have ended`, endedMs)
    add('half of them have an answer again', backMs.toSorted((a, b) => a - b)[Math.floor(moved / 2)] ?? NaN)
    add('all of them have an answer again', Math.max(...backMs))
    told(
      `${moved} sessions ${run}/${runs}: ended in ${Math.round(endedMs)} ms, back ${Math.round(Math.max(...backMs))} ms`,
    )
    await cluster.whole()
  }
  return { name: `${moved} sessions, ms after the first ended`, unit: '', samples, lost: 0, acknowledged: 0 }
}

/** An idle session is ended by the router: its client connects again at once, and asks. */
async function movedOf(
  session: Connection,
  login: Login,
): Promise<{ readonly endedMs: number; readonly againMs: number }> {
  const ended = new Promise((resolve) => session.on('error', resolve).on('end', resolve))
  if ((await Promise.race([ended, sleep(deadlineMs, 'late')])) === 'late') throw new Error('a session did not end')
  const endedMs = monotonicMs()
  session.destroy()
  for (;;) {
    try {
      const next = await openSession(login, deadlineMs)
      await queryWithin(next, 'select 1', deadlineMs)
      next.destroy()
      return { endedMs, againMs: monotonicMs() }
    } catch {
      await sleep(againMs)
    }
  }
}
