import { describe, expect, it } from 'vitest'
import { orderVersion } from '#failover/protocol/message.ts'
import type { DemoteOrder } from '#failover/protocol/order.ts'
import type { OpenChange } from '#topology/snapshot/open-changes.ts'
import { memberOf } from '#topology/testing.ts'
import { aServerState, ScriptedServer, testParts } from '../testing.ts'
import { demote } from './demotion.ts'

const order: DemoteOrder = {
  version: orderVersion,
  cluster: 'shop',
  member: memberOf('shop-0'),
  epoch: 4,
  revision: 11,
  graceMs: 0,
  deadlineMs: 60_000,
}
const change = (rows: number): OpenChange => ({ session: 21, user: 'client', rows })

/** Transactions as each look finds them, the last one for ever, on a clock of its own. */
async function primaryWith(looks: readonly (readonly OpenChange[])[]) {
  let [nowMs, at] = [0, 0]
  const server = new ScriptedServer(aServerState({ openChanges: looks[0] ?? [], semiSyncSource: { enabled: false } }))
  server.openChanges = async () => looks[Math.min(++at, looks.length - 1)] ?? []
  const parts = await testParts(server)
  const world = {
    ...parts.world,
    clock: { ...parts.world.clock, monotonicMs: () => nowMs },
    timers: { ...parts.world.timers, sleep: async (ms: number) => void (nowMs += ms) },
  }
  return { server, parts: { ...parts, world } }
}

describe('transactions with many changed rows', () => {
  it('are ended and undone before writes are stopped', async () => {
    const { server, parts } = await primaryWith([[change(50_000)], [change(50_000)], [change(20_000)], []])
    await demote(parts, order)
    expect(server.calls).toEqual(['kill 21', 'readOnly closed', 'offline on', 'killForeignSessions'])
    expect(parts.file.current).toMatchObject({ promise: 4, unsettled: true, unsettledBy: 'switchover' })
  })

  it('that cannot be undone in time are left alone, and so is everything else', async () => {
    const { server, parts } = await primaryWith([[change(700_000)]])
    await expect(demote(parts, order)).rejects.toThrow(
      'demotion refused: session 21 of client has changed 700000 rows and not committed; undoing takes up to 70 s, and there are 60 s for that',
    )
    expect(server.calls).toEqual([])
    expect(parts.file.current).toMatchObject({ promise: 0, unsettled: false })
  })

  it('that have grown too large during the grace are left alone too', async () => {
    const { server, parts } = await primaryWith([[change(50_000)], [change(700_000)]])
    await expect(demote(parts, order)).rejects.toThrow('demotion refused')
    expect(server.calls).toEqual([])
  })

  it('that are not undone in time after all leave the primary open, as it was', async () => {
    const { server, parts } = await primaryWith([[change(50_000)]])
    await expect(demote(parts, order)).rejects.toThrow(
      'demotion undone before writes were stopped: 50000 rows of sessions that were ended are still to be undone',
    )
    expect(server.calls).toEqual(['kill 21'])
    expect(parts.file.current.promise).toBe(0)
  })

  it('that others begin meanwhile are left to the closing', async () => {
    const other = { session: 22, user: 'client', rows: 90_000 }
    const { server, parts } = await primaryWith([[change(50_000)], [change(50_000)], [other]])
    await demote(parts, order)
    expect(server.calls.slice(0, 2)).toEqual(['kill 21', 'readOnly closed'])
  })
})
