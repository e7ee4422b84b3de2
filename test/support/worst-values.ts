import { expect } from 'vitest'
import { ownSession } from '#failover/settings/own-session.ts'
import type { ModeName } from '#failover/protocol/mode-name.ts'
import { allows, isSameValue } from '#failover/settings/setting.ts'
import { settingsTable } from '#failover/settings/table.ts'
import { byHand } from './by-hand.ts'
import type { TestCluster } from './cluster.ts'
import { logOf } from './instance-files.ts'

/** No agent can log in under this one, and none that has an open session must. */
export const keepsAgentsOut = 'protocol_compression_algorithms'

function bindingIn(mode: ModeName) {
  return settingsTable.flatMap(({ name, bindsAgents: bond, watched, only }) => {
    if (bond === undefined || name === keepsAgentsOut) return []
    const isPutRight = watched !== undefined && (watched.mode ?? mode) === mode
    const isRight = (seen: string) => (only === undefined ? !isSameValue(seen, bond.worst) : allows(only, seen))
    return [{ name, worst: bond.worst, isPutRight, isRight }]
  })
}

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

function setting({ name, worst }: { readonly name: string; readonly worst: string }): string {
  return `set global ${name} = ${/^\d+$/.test(worst) ? worst : `'${worst}'`}`
}

/** A hand sets these while no agent looks, and the next agent has no session from before. */
export async function startUnder(cluster: TestCluster, instance: string, values: Readonly<Record<string, string>>) {
  await cluster.fault(instance, 'kill-agent')
  const statements = Object.entries(values).map(([name, worst]) => setting({ name, worst }))
  await byHand(cluster, instance, ownSession, ...statements)
  await cluster.fault(instance, 'start')
}

/**
 * Agents start while every default that could bind their sessions has its worst value: they keep their servers, and
 * fail over.
 * @param refusedByMysql names that MySQL lets nobody change in a group that runs
 */
export async function failsOverUnderWorstValues(
  cluster: TestCluster,
  { mode, refusedByMysql = [] }: { readonly mode: ModeName; readonly refusedByMysql?: readonly string[] },
): Promise<void> {
  const binding = bindingIn(mode)
  const taken = binding.filter(({ name }) => !refusedByMysql.includes(name))
  const { instances } = await cluster.whole()
  const first = await cluster.primary()
  for (const { name } of instances) {
    const { pid } = await cluster.instance(name)
    for (const one of binding.filter((each) => refusedByMysql.includes(each.name)))
      await expect(byHand(cluster, name, setting(one))).rejects.toThrow('Group replication is running')
    await startUnder(cluster, name, Object.fromEntries(taken.map((one) => [one.name, one.worst])))
    for (const { name: variable, isRight } of taken.filter(({ isPutRight }) => isPutRight))
      await cluster.until(`${variable} is put right at ${name}`, async () => {
        const [row] = (await rowsOf(cluster, name, `select @@global.${variable} as value`)) as { value: unknown }[]
        return isRight(String(row?.value))
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
}
