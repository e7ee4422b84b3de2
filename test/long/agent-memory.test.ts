import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from 'mysql2/promise'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TestCluster } from '../support/cluster.ts'
import { processesNaming } from '../support/leftovers.ts'
import { withCluster } from '../support/with-cluster.ts'

const shop = withCluster()
/** What an agent may take at its highest, whatever happens around it; half of it is Node's own program and libraries, mapped from their files. Every start alone comes to 100 MB or so, for a moment in which its code is loaded. */
const boundMb = 110
const largeBytes = 20_000_000
/** By process. */
const peaks = new Map<string, { readonly instance: string; readonly mb: number; readonly during: string }>()
const watch = { during: 'start', ended: false, done: Promise.resolve() }

/** The highest memory of each agent, as the kernel keeps it: only what a process took in its last moments can be missed. */
async function watchAgents(cluster: TestCluster): Promise<void> {
  while (!watch.ended) {
    for (const { pid, instance } of await agentsOf(cluster)) {
      const mb = await peakOf(pid)
      if (mb > (peaks.get(pid)?.mb ?? 0)) peaks.set(pid, { instance, mb, during: watch.during })
    }
    await sleep(100)
  }
}

async function agentsOf(cluster: TestCluster): Promise<readonly { readonly pid: string; readonly instance: string }[]> {
  return (await processesNaming(cluster.layout.dir)).flatMap((line) => {
    const [, pid, instance] = /^(\d+): .*main\.ts agent .*(shop-\d)/.exec(line) ?? []
    return pid === undefined || instance === undefined ? [] : [{ pid, instance }]
  })
}

async function peakOf(pid: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)
}

beforeAll(async () => {
  const cluster = shop.current
  await cluster.sql('shop-0', 'create database test')
  await cluster.sql('shop-0', 'create table test.large (id int auto_increment primary key, body longblob)')
  // The first start of new code compiles its TypeScript and keeps the result, which no later one does: that takes 150 MB, and leaves some of it with the process.
  for (const { instance } of await agentsOf(cluster)) await cluster.fault(instance, 'kill-agent')
  await cluster.until('all agents are back', async () => (await agentsOf(cluster)).length === 3)
  await cluster.whole()
  watch.done = watchAgents(cluster)
})

afterAll(async () => {
  watch.ended = true
  await watch.done
})

/** Power is cut, and that is noticed. */
async function killMachine(cluster: TestCluster, name: string): Promise<void> {
  await cluster.fault(name, 'kill')
  await cluster.waitFor(`${name} is gone`, ({ instances }) => instances.some((one) => one.name === name && !one.reachable))
}

const isWritten = async (cluster: TestCluster, name: string): Promise<boolean> => Number(await cluster.value(name, "select count(*) from performance_schema.processlist where info like 'insert into test.large%' or command = 'Query' and state like '%ack%'")) > 0

const made = (rows: number): string => `insert into test.large (body) with recursive n (i) as (select 1 union all select i + 1 from n where i < ${rows}) select /*+ set_var(cte_max_recursion_depth = 100000) */ repeat(md5(rand()), ${largeBytes / 32 / rows}) from n`
const writes: Readonly<Record<string, (session: Connection) => Promise<unknown>>> = {
  'one row, sent by the client': (session) => session.query('insert into test.large (body) values (?)', [Buffer.alloc(largeBytes, 'regent ')]),
  'one row, made in the server': (session) => session.query(made(1)),
  'twenty-five thousand rows': (session) => session.query(made(25_000)),
}
const cases = Object.entries(writes).flatMap(([what, write]) => ['off', 'on'].map((compression) => ({ what, write, compression })))

it.each(cases)('No agent outgrows its bound while machines and servers die in the middle of transactions of 20 MB: $what, compression $compression', async ({ what, write, compression }) => {
  const cluster = shop.current
  for (let round = 0; round < 3; round += 1) {
    const { primary } = await cluster.whole(3, 120_000)
    const first = primary ?? ''
    watch.during = `${what}, compression ${compression}, round ${round}`
    const writers = [1, 2].map(async () => {
      const session = await cluster.session(first)
      await session.query(`set binlog_transaction_compression = ${compression}`)
      for (;;) await write(session)
    })
    const ended = Promise.allSettled(writers)
    await cluster.until('something is written', () => isWritten(cluster, first))
    await sleep(100 + round * 300)
    // The primary's machine; a replica's with the primary's mysqld; the primary's twice in a row.
    const victim = round === 1 ? ((await cluster.replicas())[0] ?? '') : first
    await killMachine(cluster, victim)
    if (round === 1) await cluster.fault(first, 'kill-mysqld')
    await cluster.fault(victim, 'start')
    if (round === 2) {
      await sleep(1_000)
      await killMachine(cluster, victim)
      await cluster.fault(victim, 'start')
    }
    await ended
  }
  await cluster.whole(3, 120_000)
  await cluster.sql(await cluster.primary(), 'truncate test.large', { deadlineMs: 30_000 })
  expect(peaks.size).toBeGreaterThan(3)
  expect([...peaks.values()].filter(({ mb }) => mb >= boundMb)).toEqual([])
}, 300_000)
