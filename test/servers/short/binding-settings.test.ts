import { expect, it } from 'vitest'
import { settingsTable } from '../../../failover/settings/table.ts'
import { byHand } from '../../support/by-hand.ts'
import type { TestCluster } from '../../support/cluster.ts'
import { logOf } from '../../support/instance-files.ts'
import { withCluster } from '../../support/with-cluster.ts'

const shop = withCluster()

/** The session of a hand is bound by these too, but for what the session says itself. */
const unbound =
  'set session autocommit = 1, sql_select_limit = 18446744073709551615, sql_big_selects = 1, max_execution_time = 0, wait_timeout = 600'

type Values = readonly (readonly [name: string, value: string])[]

/** Those that are put right while the server runs would otherwise be gone before an agent starts. */
function worstOf(isWatched: boolean): Values {
  return settingsTable.flatMap(({ name, bindsAgents: bond, watched }) =>
    bond === undefined || (watched !== undefined) !== isWatched ? [] : [[name, bond.worst] as const],
  )
}

async function setAll(cluster: TestCluster, instance: string, values: Values): Promise<void> {
  const session = await cluster.session(instance)
  try {
    await session.query(unbound)
    for (const [name, value] of values)
      await session.query(`set global ${name} = ${/^\d+$/.test(value) ? value : `'${value}'`}`)
  } finally {
    session.destroy()
  }
}

/** With new sessions: the agents begin again. */
async function bind(cluster: TestCluster, instance: string): Promise<void> {
  const watched = worstOf(true)
  await setAll(cluster, instance, watched)
  for (const [name] of watched)
    await cluster.until(`${name} is put right at ${instance}`, async () =>
      (await logOf(cluster, instance)).includes(`${name} is`),
    )
  await setAll(cluster, instance, worstOf(false))
  await cluster.fault(instance, 'kill-agent')
  await cluster.fault(instance, 'start')
}

it('Agents that start while every default that could bind their sessions has its worst value keep a cluster whole, and fail over', async () => {
  const cluster = shop.current
  await cluster.whole()
  const first = await cluster.primary()
  const names = (await cluster.view()).instances.map(({ name }) => name)
  for (const name of names) await bind(cluster, name)
  await cluster.whole()
  await byHand(
    cluster,
    first,
    unbound,
    'create table app.bound (id int primary key)',
    'insert into app.bound values (1)',
  )

  await cluster.fault(first, 'kill-mysqld')
  const { primary } = await cluster.waitFor(
    'another one leads',
    (view) => view.writable && view.primary !== null && view.primary !== first,
  )
  await byHand(cluster, primary ?? '', unbound, 'insert into app.bound values (2)')
  await cluster.whole()
  for (const name of names) {
    const session = await cluster.session(name)
    await session.query(unbound)
    const [rows] = await session.query('select id from app.bound order by id')
    session.destroy()
    expect(rows).toEqual([{ id: 1 }, { id: 2 }])
    expect(await logOf(cluster, name)).not.toMatch(/StrangerAcknowledges/)
  }
})
