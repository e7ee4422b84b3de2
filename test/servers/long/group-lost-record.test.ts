import { rm } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { askSupervisor } from '#local/supervisor/control.ts'
import { managerProcess } from '#local/supervisor/supervisor.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({ spec: { mode: 'group' } })
const all = ['shop-0', 'shop-1', 'shop-2']
const wholeMs = 120_000
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }

/** Nobody leads while `meanwhile` goes on, and the record is gone afterwards. */
async function loseRecord(meanwhile: () => Promise<unknown> = () => Promise.resolve()): Promise<void> {
  const { layout } = shop.current
  const manager = (command: 'start' | 'stop') =>
    askSupervisor(layout.control, { command, process: managerProcess }, 30_000)
  await manager('stop')
  await meanwhile()
  await rm(layout.records, { recursive: true })
  await manager('start')
}

it('A lost record of a group that serves is rebuilt from what the group shows, and clients write meanwhile', async () => {
  const cluster = shop.current
  const { epoch, primary } = await cluster.whole(3, wholeMs)
  const writer = await Writer.start(cluster)
  await loseRecord()
  const after = await cluster.whole(3, wholeMs)
  expect(after.primary).toBe(primary)
  expect(after.epoch).toBeGreaterThan(epoch + 1)
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
  const [to] = after.syncSet
  expect(await cluster.switchover({ to: to! })).toMatchObject({ done: true })
})

it('Where the group has elected another primary since, the record names that one', async () => {
  const cluster = shop.current
  const { epoch, primary } = await cluster.whole(3, wholeMs)
  const writer = await Writer.start(cluster)
  await loseRecord(() => cluster.fault(primary!, 'kill'))
  const waiting = await cluster.waitFor(`${primary!} is waited for`, ({ sentence }) =>
    sentence.startsWith(`waiting for the agents of ${primary!} before anything is believed: the record is lost`),
  )
  expect(waiting.blocked).toBe(true)
  await cluster.fault(primary!, 'start')
  const after = await cluster.whole(3, wholeMs)
  expect(after.primary).not.toBe(primary)
  expect(after.epoch).toBeGreaterThan(epoch + 1)
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
})

it('A group that is gone together with its record is formed anew once all have answered, and nothing is lost', async () => {
  const cluster = shop.current
  const { epoch } = await cluster.whole(3, wholeMs)
  const writer = await Writer.start(cluster)
  await writer.next()
  await loseRecord(() => Promise.all(all.map((name) => cluster.fault(name, 'kill'))))
  for (const name of all) await cluster.fault(name, 'start')
  expect((await cluster.whole(3, wholeMs)).epoch).toBeGreaterThan(epoch + 1)
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
})

it('A person goes on without an agent that is silent: with the primary that the group has, and no other', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole(3, wholeMs)
  const [frozen = '', other = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  await cluster.fault(frozen, 'freeze-agent')
  await loseRecord()
  await cluster.waitFor(`${frozen} is waited for`, ({ sentence }) => sentence.includes('the record is lost'))
  const refused = await cluster.regent('failover', '--accept-loss', '--to', other)
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain(`${primary!} is primary of a group that goes on`)
  expect(await cluster.regent('failover', '--accept-loss', '--to', primary!)).toMatchObject({ code: 0 })
  await cluster.waitFor('the record names that primary', (view) => view.primary === primary && view.writable === true)
  await cluster.fault(frozen, 'thaw-agent')
  await cluster.whole(3, wholeMs)
  await writer.next()
  expect(await writer.check()).toMatchObject(nothingLost)
})
