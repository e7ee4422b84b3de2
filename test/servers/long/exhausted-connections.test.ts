import type { Connection } from 'mysql2/promise'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { troublesOf } from '#test/support/troubles.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()
const sessions: Connection[] = []

afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy()
})

/**
 * Takes every connection of an instance, the one that is kept for administrators too: only the administrative interface
 * is left.
 */
async function exhaust(instance: string): Promise<void> {
  const cluster = shop.current
  const taken = Number(
    await cluster.value(
      instance,
      "select variable_value from performance_schema.global_status where variable_name = 'Threads_connected'",
    ),
  )
  await cluster.sql(instance, `set global max_connections = ${taken + 10}`)
  for (const user of ['client', 'admin'] as const) {
    for (;;) {
      const session = await cluster.session(instance, user).catch((error: unknown) => error as { errno?: number })
      if (!('query' in session)) {
        expect(session).toMatchObject({ errno: 1040 })
        break
      }
      sessions.push(session)
    }
  }
}

it('A primary whose connections are all taken stays primary, also under an agent that starts then, and everybody is told why nobody gets in', async () => {
  const cluster = shop.current
  const { epoch } = await cluster.whole()
  const writer = await Writer.start(cluster)
  await writer.next()
  await exhaust('shop-0')
  const view = await cluster.waitFor('it is named', ({ instances }) =>
    troublesOf(instances, 'shop-0').includes('connections'),
  )
  expect(view.primary).toBe('shop-0')
  expect((await cluster.regent('topology', 'shop')).stdout).toMatch(/all of its connections are taken/)
  await sleep(3_000)
  // Who is in goes on writing; the agent still looks, by its own interface.
  await writer.next()
  const seen = (reachable: boolean) =>
    cluster.waitFor(`the agent of shop-0 is ${reachable ? 'heard' : 'gone'}`, ({ instances }) =>
      instances.some(
        (one) => one.name === 'shop-0' && one.reachable === reachable && (!reachable || one.readOnly === false),
      ),
    )
  await cluster.fault('shop-0', 'kill-agent')
  await seen(false)
  // What the agent had is taken too. One that has to come in anew finds that interface open.
  await exhaust('shop-0')
  await cluster.fault('shop-0', 'start')
  await seen(true)
  expect(await cluster.waitFor('all is well', ({ blocked, writable }) => writable && !blocked)).toMatchObject({
    primary: 'shop-0',
    epoch,
  })
})

it('A primary that is killed while its connections are all taken is failed over as any other', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  await exhaust('shop-0')
  await expect(cluster.sql('shop-0', 'select 1', { user: 'client' })).rejects.toMatchObject({ errno: 1040 })
  const atMs = await cluster.fault('shop-0', 'kill-mysqld')
  await writer.outageSince(atMs)
  expect(await cluster.primary()).not.toBe('shop-0')
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A candidate whose connections are all taken is promoted all the same, and lets clients in', async () => {
  const cluster = shop.current
  const from = await cluster.primary()
  const writer = await Writer.start(cluster)
  await writer.next()
  for (const replica of await cluster.replicas()) await exhaust(replica)
  const atMs = await cluster.fault(from, 'kill-mysqld')
  await writer.outageSince(atMs)
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
