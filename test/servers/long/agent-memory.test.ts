import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from 'mysql2/promise'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { processesNaming } from '#test/support/leftovers.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const shop = withCluster()
/**
 * Beside other tests, agents were seen to take 94 MB at most. Agents that kept what they read took 260 to 348 MB. Of an
 * agent's 88 MB at rest, 50 are Node, mapped from files.
 */
const boundMb = 110
const largeBytes = 20_000_000

interface Peak {
  readonly instance: string
  readonly mb: number
  /** Of `mb`: what is not mapped from files. */
  readonly ownMb: number
  readonly during: string
}

/** By process. */
const peaks = new Map<string, Peak>()
const watch = { during: 'start', ended: false, done: Promise.resolve() }

/** Notes the highest memory of each agent, as the kernel keeps that figure: nothing between two looks is missed. */
async function watchAgents(cluster: TestCluster): Promise<void> {
  while (!watch.ended) {
    for (const { pid, instance } of await agentsOf(cluster)) {
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
      const mb = megabytesOf(status, 'VmHWM')
      if (mb > (peaks.get(pid)?.mb ?? 0))
        peaks.set(pid, { instance, mb, ownMb: megabytesOf(status, 'RssAnon'), during: watch.during })
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

function megabytesOf(status: string, field: 'VmHWM' | 'RssAnon'): number {
  return Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024)
}

/** The first start of new code compiles TypeScript, takes 150 MB and keeps the result, which later starts read. */
async function startAgentsAnew(cluster: TestCluster): Promise<void> {
  const first = await agentsOf(cluster)
  for (const { instance } of first) await cluster.fault(instance, 'kill-agent')
  for (const { instance } of first) await cluster.fault(instance, 'start')
  await cluster.until('three other agents run', async () => {
    const now = await agentsOf(cluster)
    return now.length === 3 && now.every(({ pid }) => first.every((one) => one.pid !== pid))
  })
  await cluster.whole()
}

beforeAll(async () => {
  const cluster = shop.current
  await cluster.sql('shop-0', 'create database test')
  await cluster.sql('shop-0', 'create table test.large (id int auto_increment primary key, body longblob)')
  await startAgentsAnew(cluster)
  watch.done = watchAgents(cluster)
})

afterAll(async () => {
  watch.ended = true
  await watch.done
})

/** Power is cut, and the manager notices. */
async function killMachine(cluster: TestCluster, name: string): Promise<void> {
  await cluster.fault(name, 'kill')
  await cluster.waitFor(`${name} is gone`, ({ instances }) =>
    instances.some((one) => one.name === name && !one.reachable),
  )
}

const writing = `select count(*) from performance_schema.processlist
  where info like 'insert into test.large%' or command = 'Query' and state like '%ack%'`

const made = (rows: number) =>
  `insert into test.large (body) with recursive n (i) as (select 1 union all select i + 1 from n where i < ${rows})
  select /*+ set_var(cte_max_recursion_depth = 100000) */ repeat(sha2(rand(), 256), ${largeBytes / 64 / rows}) from n`

const writes: Readonly<Record<string, (session: Connection) => Promise<unknown>>> = {
  'one row, sent by the client': (session) =>
    session.query('insert into test.large (body) values (?)', [Buffer.alloc(largeBytes, 'regent ')]),
  'one row, made in the server': (session) => session.query(made(1)),
  'twenty-five thousand rows': (session) => session.query(made(25_000)),
}
const cases = Object.entries(writes).flatMap(([what, write]) =>
  ['off', 'on'].map((compression) => ({ what, write, compression })),
)

it.each(cases)(
  'No agent outgrows its bound while machines and servers die in transactions of 20 MB: $what, compression $compression',
  async ({ what, write, compression }) => {
    const cluster = shop.current
    for (const round of ['the primary', 'a replica and the server of the primary', 'the primary twice'] as const) {
      await cluster.whole(3, 120_000)
      const primary = await cluster.primary()
      watch.during = `${what}, compression ${compression}, death of ${round}`
      const writers = [1, 2].map(async () => {
        const session = await cluster.session(primary)
        await session.query(`set binlog_transaction_compression = ${compression}`)
        for (;;) await write(session)
      })
      const ended = Promise.allSettled(writers)
      await cluster.until('something is written', async () => Number(await cluster.value(primary, writing)) > 0)
      await sleep(100 + Math.random() * 600)
      const withReplica = round === 'a replica and the server of the primary'
      const victim = withReplica ? (await cluster.replicas())[0]! : primary
      await killMachine(cluster, victim)
      if (withReplica) await cluster.fault(primary, 'kill-mysqld')
      await cluster.fault(victim, 'start')
      if (round === 'the primary twice') {
        await sleep(1_000)
        await killMachine(cluster, victim)
        await cluster.fault(victim, 'start')
      }
      await ended
    }
    await cluster.whole(3, 120_000)
    await cluster.sql(await cluster.primary(), 'truncate test.large', { deadlineMs: 30_000 })
    expect(peaks.size).toBeGreaterThan(3)
    expect([...peaks.values()].filter(({ mb }) => mb > boundMb)).toEqual([])
  },
  300_000,
)
