import { describe, expect, it } from 'vitest'
import { orderVersion } from '#failover/protocol/message.ts'
import type { DemoteOrder } from '#failover/protocol/order.ts'
import { memberOf, uuidOf } from '#topology/testing.ts'
import { inGroup, type GroupShape } from '#topology/testing-group.ts'
import type { OpenChange } from '#topology/snapshot/open-changes.ts'
import type { GroupPort } from '../ports/group.ts'
import { aServerState, ScriptedServer, testParts } from '../testing.ts'
import { Group } from './group.ts'

const order: DemoteOrder = {
  version: orderVersion,
  cluster: 'shop',
  member: memberOf('shop-0'),
  epoch: 4,
  revision: 11,
  graceMs: 0,
  deadlineMs: 60_000,
  electUuid: uuidOf('shop-1'),
}
const change = (rows: number): OpenChange => ({ session: 21, user: 'client', rows })

/** The primary of a group with transactions as each look finds them, the last one for ever, on a clock of its own. */
async function primaryWith(looks: readonly (readonly OpenChange[])[], later: GroupShape = {}) {
  let [nowMs, at] = [0, 0]
  const seen = (sees: GroupShape) => aServerState({ ...inGroup('shop-0', sees), openChanges: looks[0] ?? [] })
  const server = new ScriptedServer(seen({}))
  const electPrimary: GroupPort['electPrimary'] = async (uuid, { deadlineMs }) =>
    void server.calls.push(`elect ${uuid === uuidOf('shop-1') ? 'shop-1' : uuid} within ${deadlineMs}`)
  const scripted = Object.assign(server, { group: { electPrimary } as GroupPort })
  server.openChanges = async () => {
    server.state = seen(later)
    return looks[Math.min(++at, looks.length - 1)] ?? []
  }
  const parts = await testParts(scripted)
  const world = {
    ...parts.world,
    clock: { ...parts.world.clock, monotonicMs: () => nowMs },
    timers: { ...parts.world.timers, sleep: async (ms: number) => void (nowMs += ms) },
  }
  return { server, mode: new Group({ ...parts, world }) }
}

describe('Transactions with many changed rows at the primary of a group', () => {
  it('are ended and undone before the group is asked to elect, within what is left of the time', async () => {
    const { server, mode } = await primaryWith([[change(50_000)], [change(50_000)], [change(20_000)], []])
    await mode.demote(order)
    expect(server.calls).toEqual(['kill 21', 'end busy sessions', 'elect shop-1 within 59900'])
  })

  it('that cannot be undone in time are left alone, and nobody is elected', async () => {
    const { server, mode } = await primaryWith([[change(700_000)]])
    await expect(mode.demote(order)).rejects.toThrow(
      'demotion refused: session 21 of client has changed 700000 rows and not committed; undoing takes up to 70 s, and there are 60 s for that',
    )
    expect(server.calls).toEqual([])
  })

  it('that are not undone in time after all leave the primary as it was', async () => {
    const { server, mode } = await primaryWith([[change(50_000)]])
    await expect(mode.demote(order)).rejects.toThrow('demotion undone before writes were stopped')
    expect(server.calls).toEqual(['kill 21'])
  })

  it('are undone for nobody where the group has another primary by then', async () => {
    const { server, mode } = await primaryWith([[change(50_000)], [change(50_000)], []], { primary: 'shop-2' })
    await expect(mode.demote(order)).rejects.toThrow('switchover refused: the group has another primary by now')
    expect(server.calls).toEqual(['kill 21', 'end busy sessions'])
  })
})

describe('Sessions that are busy at the primary of a group', () => {
  it('get their grace and are ended before the group is asked to elect: it would wait for them with everybody held up', async () => {
    const { server, mode } = await primaryWith([[]])
    server.busySessions = async () => 1
    await mode.demote({ ...order, graceMs: 1_000 })
    expect(server.calls).toEqual(['end busy sessions', 'elect shop-1 within 59000'])
  })

  it('are waited for no longer than they need', async () => {
    const { server, mode } = await primaryWith([[]])
    let looks = 0
    server.busySessions = async () => ((looks += 1) < 3 ? 1 : 0)
    await mode.demote({ ...order, graceMs: 1_000 })
    expect(server.calls.at(-1)).toBe('elect shop-1 within 59980')
  })

  it('are nobody where nobody is busy: the group is asked at once', async () => {
    const { server, mode } = await primaryWith([[]])
    await mode.demote({ ...order, graceMs: 1_000 })
    expect(server.calls).toEqual(['elect shop-1 within 60000'])
  })
})
