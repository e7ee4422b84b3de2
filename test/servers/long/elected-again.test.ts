import { expect, it } from 'vitest'
import type { Connection } from 'mysql2/promise'
import { byHand } from '#test/support/by-hand.ts'
import { deafenReplicas } from '#test/support/deaf-replicas.ts'
import { logOf } from '#test/support/instance-files.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({ spec: { failover: { windowMs: 0 } } })

/**
 * More than the election overlooks, so that shop-1 is asked to make ready, and shop-2 keeps what it has not applied.
 */
const backlog = 150

/** What `instance` receives from now on it does not apply, until that session is gone. */
async function holdBack(instance: string): Promise<Connection> {
  const session = await shop.current.session(instance)
  await session.query('lock tables app.writes read')
  return session
}

async function hasBacklog(instance: string): Promise<boolean> {
  const applied =
    "select gtid_subset(received_transaction_set, @@global.gtid_executed) from performance_schema.replication_connection_status where channel_name = ''"
  return (await shop.current.value(instance, applied)) === '0'
}

/** Its applier stops at the transaction that it was held at, and the server forgets the rest of what it received. */
async function throwAway(instance: string, held: Connection): Promise<void> {
  const cluster = shop.current
  const stopped = byHand(cluster, instance, 'stop replica sql_thread')
  const stopping =
    "select count(*) from performance_schema.threads where processlist_info = 'stop replica sql_thread' and processlist_state like 'Killing%'"
  await cluster.until('the applier is to stop', async () => (await cluster.value(instance, stopping)) === '1')
  held.destroy()
  await stopped
  expect(await hasBacklog(instance)).toBe(true)
  await byHand(cluster, instance, 'change replication source to source_delay = 0')
  expect(await hasBacklog(instance)).toBe(false)
}

/**
 * The primary’s server is dead, and shop-2 alone promises: shop-1’s agent stands still until it is thawed. Then the
 * primary’s agent dies too.
 */
async function electionUnderWay(): Promise<void> {
  const cluster = shop.current
  await cluster.waitFor('it waits for a person', ({ sentence }) => /no failover: .*paused/.test(sentence))
  const began = Date.now()
  await cluster.fault('shop-1', 'freeze-agent')
  await cluster.operate('resume', {})
  await cluster.until('shop-2 has promised', async () => {
    const [recovery] = await cluster.recoveries()
    return (
      recovery !== undefined &&
      recovery.startedWallMs >= began &&
      recovery.timeline.some(({ what }) => what.startsWith('promise shop-2'))
    )
  })
  await cluster.fault('shop-0', 'kill')
}

async function nobodyWasSeeded(): Promise<void> {
  for (const instance of ['shop-0', 'shop-1', 'shop-2'])
    expect(await logOf(shop.current, instance)).not.toMatch(/errant|seed/i)
}

it('A hand throws away what the elected primary had received: it stays closed and says why, and the other member of the sync set leads with every write', async () => {
  const cluster = shop.current
  const { epoch } = await cluster.whole()
  const writer = await Writer.start(cluster)
  await cluster.operate('pause', { reason: 'a test' })
  const held = await holdBack('shop-2')
  const heldMs = monotonicMs()
  await cluster.until('writes that shop-2 has not applied', async () => writer.since(heldMs).length > backlog)
  await cluster.fault('shop-0', 'kill-mysqld')
  await electionUnderWay()
  await throwAway('shop-2', held)
  // Among those that hold everything: so shop-2 is elected.
  await cluster.operate('downtime', { instance: 'shop-1', forMs: 600_000, reason: 'a test' })
  await cluster.fault('shop-1', 'thaw-agent')
  const { primary, epoch: after } = await cluster.waitFor(
    'another primary is open',
    (view) => view.primary === 'shop-1' && view.writable,
  )
  expect({ primary, after }).toEqual({ primary: 'shop-1', after: epoch + 2 })
  expect(await logOf(cluster, 'shop-2')).toMatch(
    /this primary lacks \d+ transactions of the set that it was elected for .*thrown away by another hand/,
  )
  await cluster.fault('shop-0', 'start')
  await writer.next()
  await cluster.whole()
  await nobodyWasSeeded()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('Where nobody else of the sync set holds all of it, no primary opens until the old one is back, and that one leads again with every write', async () => {
  const cluster = shop.current
  await cluster.operate('end-downtime', { instance: 'shop-1' })
  await cluster.switchover({ to: 'shop-0' })
  const { epoch } = await cluster.whole()
  const writer = await Writer.start(cluster)
  await cluster.operate('pause', { reason: 'a test' })
  const deaf = await deafenReplicas(cluster, ['shop-1'])
  const held = await holdBack('shop-2')
  const heldMs = monotonicMs()
  await cluster.until('writes that shop-2 alone acknowledged', async () => writer.begunSince(heldMs).length > backlog)
  await cluster.fault('shop-0', 'kill-mysqld')
  await deaf.end()
  await cluster.waitFor('shop-1 is heard again', ({ instances }) =>
    instances.some(({ name, reachable }) => name === 'shop-1' && reachable),
  )
  await electionUnderWay()
  await throwAway('shop-2', held)
  await cluster.fault('shop-1', 'thaw-agent')
  // Until shop-0 is known to be silent, the sentence names nobody.
  const says = /^no primary: shop-2 lacks .* nobody who may lead holds that set: bring back shop-0, or /
  const still = await cluster.waitFor('nobody leads', ({ sentence }) => says.test(sentence))
  expect(still).toMatchObject({ primary: 'shop-2', epoch: epoch + 1, writable: false })
  await cluster.fault('shop-0', 'start')
  const led = await cluster.waitFor('the old primary leads again', (view) => view.primary === 'shop-0' && view.writable)
  expect(led.epoch).toBe(epoch + 2)
  await writer.next()
  await cluster.whole()
  await nobodyWasSeeded()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
