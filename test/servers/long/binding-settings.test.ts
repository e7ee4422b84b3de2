import { expect, it } from 'vitest'
import { ownSession } from '#failover/settings/own-session.ts'
import { isSameValue } from '#failover/settings/setting.ts'
import { settingsTable } from '#failover/settings/table.ts'
import { byHand } from '#test/support/by-hand.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const shop = withCluster()

/** No agent can log in under this one, and none that has an open session must. */
const keepsAgentsOut = 'protocol_compression_algorithms'

const binding = settingsTable.flatMap(({ name, bindsAgents: bond, watched }) =>
  bond === undefined || name === keepsAgentsOut ? [] : [{ name, worst: bond.worst, isPutRight: watched !== undefined }],
)

/** What a hand sees, whatever would bind that hand. */
async function rowsOf(cluster: TestCluster, instance: string, query: string): Promise<unknown> {
  const session = await cluster.session(instance)
  try {
    await session.query(ownSession)
    return (await session.query(query))[0]
  } finally {
    session.destroy()
  }
}

/** A hand sets these while no agent looks, and the next agent has no session from before. */
async function startUnder(cluster: TestCluster, instance: string, values: Readonly<Record<string, string>>) {
  await cluster.fault(instance, 'kill-agent')
  const statements = Object.entries(values).map(
    ([name, value]) => `set global ${name} = ${/^\d+$/.test(value) ? value : `'${value}'`}`,
  )
  await byHand(cluster, instance, ownSession, ...statements)
  await cluster.fault(instance, 'start')
}

it('Agents that start while every default that could bind their sessions has its worst value keep their servers, and fail over', async () => {
  const cluster = shop.current
  const { instances } = await cluster.whole()
  const first = await cluster.primary()
  for (const { name } of instances) {
    const { pid } = await cluster.instance(name)
    await startUnder(cluster, name, Object.fromEntries(binding.map((one) => [one.name, one.worst])))
    for (const { name: setting, worst } of binding.filter(({ isPutRight }) => isPutRight))
      await cluster.until(`${setting} is put right at ${name}`, async () => {
        const [row] = (await rowsOf(cluster, name, `select @@global.${setting} as value`)) as { value: unknown }[]
        return !isSameValue(String(row?.value), worst)
      })
    await cluster.whole()
    expect((await cluster.instance(name)).pid).toBe(pid)
  }
  expect(await cluster.primary()).toBe(first)
  await byHand(cluster, first, ownSession, 'create table app.bound (id int primary key)')
  await byHand(cluster, first, ownSession, 'insert into app.bound values (1)')

  await cluster.fault(first, 'kill-mysqld')
  const { primary } = await cluster.waitFor(
    'another one leads',
    (view) => view.writable && view.primary !== null && view.primary !== first,
  )
  await byHand(cluster, primary ?? '', ownSession, 'insert into app.bound values (2)')
  await cluster.whole()
  for (const { name } of instances) {
    expect(await rowsOf(cluster, name, 'select id from app.bound order by id')).toEqual([{ id: 1 }, { id: 2 }])
    expect(await logOf(cluster, name)).not.toMatch(
      /StrangerAcknowledges|account regent@\S+ is as Regent needs it again/,
    )
  }
})

it('An agent whose server takes no login but with a compression that the agent does not speak has that server start anew', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const [replica] = await cluster.replicas()
  for (const name of [replica!, primary!]) {
    const { pid } = await cluster.instance(name)
    await startUnder(cluster, name, { [keepsAgentsOut]: 'zstd' })
    await cluster.otherMysqld(name, pid, 60_000)
    await cluster.whole()
    expect(await logOf(cluster, name)).toMatch(/mysqld refuses its own agent/)
    expect(await cluster.value(name, `select @@global.${keepsAgentsOut}`)).toContain('uncompressed')
  }
})
