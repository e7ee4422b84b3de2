import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { openSession, queryWithin } from '../support/sql-session.ts'
import type { Load } from './load-client.ts'
import type { CaseResult } from './report.ts'
import type { Ways } from './routed.ts'

const clients = [8, 64]
/** One thread of Node is busy with fewer clients than a server is. */
const threads = 4
const forMs = 2_000
const statements = {
  'point selects': 'select value from routed where id = 1',
  commits: 'insert into loaded () values ()',
}

const tables = [
  'create table if not exists routed (id int primary key, value int)',
  'replace into routed values (1, 0)',
  'create table if not exists loaded (id bigint auto_increment primary key)',
]
const deadlineMs = 10_000

/** Statements a second, by each way in turn. */
export async function measureRouterLoad(
  { direct, ...others }: Ways,
  runs: number,
  told: (line: string) => void,
): Promise<CaseResult> {
  const session = await openSession(direct, deadlineMs)
  for (const table of tables) await queryWithin(session, table, deadlineMs)
  session.destroy()
  const samples = new Map<string, number[]>()
  const add = (what: string, value: number) => samples.set(what, [...(samples.get(what) ?? []), value])
  const measure = async (what: string, load: Omit<Load, 'forMs' | 'login'>, run: number): Promise<void> => {
    const alone = await aSecond({ ...load, login: direct })
    add(`${what} a second, direct`, alone)
    for (const [way, login] of Object.entries(others)) {
      const through = await aSecond({ ...load, login })
      const percent = (through / alone) * 100
      add(`${what} a second, ${way}`, through)
      add(`${what}, share of direct, %, ${way}`, percent)
      told(`${what} ${run}/${runs}: ${percent.toFixed(0)} % of direct, ${way}`)
    }
  }
  for (let run = 1; run <= runs; run++)
    for (const sessions of clients)
      for (const [what, statement] of Object.entries(statements))
        await measure(`${sessions} clients, ${what}`, { sessions, statement }, run)
  return { name: 'throughput', unit: '', samples, lost: 0, acknowledged: 0 }
}

async function aSecond({ sessions, ...load }: Omit<Load, 'forMs'>): Promise<number> {
  const workers = Array.from({ length: threads }, () => {
    const workerData: Load = { ...load, sessions: sessions / threads, forMs }
    return new Worker(new URL('load-client.ts', import.meta.url), { workerData })
  })
  const said = () => Promise.all(workers.map((worker) => once(worker, 'message') as Promise<unknown[]>))
  try {
    await said()
    const counted = said()
    for (const worker of workers) worker.postMessage('begin')
    const answers = (await counted).reduce((sum, [one]) => sum + Number(one), 0)
    return answers / (forMs / 1_000)
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()))
  }
}
