import { describe, expect, it } from 'vitest'
import type { ViewOverrides } from '#topology/testing.ts'
import { groupName } from '#topology/testing-group.ts'
import { decide } from '../decide.ts'
import { committed, ordersOf, promised, shop1, shop2 } from '../testing.ts'
import { wayOut } from '../way-out/way-out.ts'
import { lossOfReboot, whyNeverForms, whyNoReboot } from './reboot.ts'
import { aGroupSituation, groupRecord, nobodyIn, type GroupSituation } from './testing-group.ts'

/** Its agent answers, has promised, and starts mysqld in vain. */
const down = (startsFailed: number, more: ViewOverrides = {}): ViewOverrides => ({
  process: 'dead',
  server: null,
  startFailed: '[ERROR] [MY-012209] Multiple files found for the same tablespace ID',
  startsFailed,
  ...more,
  stored: { promise: 2, ...more.stored },
})
const given = (more: GroupSituation = {}) =>
  aGroupSituation({
    sees: nobodyIn,
    ...more,
    views: { 'shop-0': down(3), 'shop-1': promised(), 'shop-2': promised(), ...more.views },
  })
const asked = (acceptLoss: boolean, to: string | null = null) =>
  ({ requests: [{ kind: 'failover', id: 'asked', to, acceptLoss }] }) as const

describe('After a full outage a member whose mysqld does not come up', () => {
  it('is named, with the one command that ends the wait, once it has promised', () => {
    const decision = decide(given())
    expect(decision).toMatchObject({ blocked: true, flow: null })
    expect(decision.sentence).toBe(
      'no instance is in the group. mysqld of shop-0 does not come up, and it may hold the last writes: put right why, or give those up: regent failover --accept-loss',
    )
    expect(wayOut(given())?.command).toEqual({ verb: 'failover', to: null, acceptLoss: true })
  })

  it('is given up where a person says so: the others go on, under another name', () => {
    const next = committed(decide(given(asked(true))))
    expect(next).toMatchObject({ epoch: 2, primary: shop1, syncSet: [shop2], group: { forming: true } })
    expect(next.group?.name).not.toBe(groupName)
  })

  it('is asked to promise first: it is outside of every group by that, whatever starts its mysqld', () => {
    const views = { 'shop-0': down(3, { stored: { promise: 1 } }) }
    for (const request of [{}, asked(true)])
      expect(ordersOf(decide(given({ views, ...request })))).toEqual(['promise shop-0 2@5'])
  })

  it.each<[string, ViewOverrides]>([
    ['is started once more', down(1)],
    ['starts', down(2, { process: 'starting' })],
    ['is just being ended', down(0, { process: 'exiting', processSinceMs: 3_000 })],
    ['runs again', down(3, { process: 'running' })],
  ])('is waited for while it %s, also by a person: it says what it holds in a moment', (_, view) => {
    expect(ordersOf(decide(given({ views: { 'shop-0': view }, ...asked(true) })))).toEqual(['promise shop-0 2@5'])
  })

  it.each<[string, ViewOverrides]>([
    ['its settings', down(0, { settingsRefused: 'unknown variable' })],
    ['a disk that does not answer', down(0, { process: 'exiting', processSinceMs: 60_000 })],
  ])('so is one that does not come up for %s', (_, view) => {
    expect(committed(decide(given({ views: { 'shop-0': view }, ...asked(true) }))).primary).toBe(shop1)
  })

  it('so is each of them, for a setting perhaps: nothing is offered, since nobody would be left', () => {
    const all = given({ views: { 'shop-0': down(3), 'shop-1': down(3), 'shop-2': down(3) } })
    expect(decide(all).sentence).toBe(
      'no instance is in the group. mysqld of shop-0, shop-1 and shop-2 do not come up, and they may hold the last writes: put right why',
    )
    expect(wayOut(all)?.command).toBeNull()
  })

  it('is why the group cannot be formed without loss, and forms none itself', () => {
    expect(String(whyNoReboot(given()))).toBe('mysqld of shop-0 does not come up')
    expect(String(whyNeverForms(given(), 'shop-0'))).toBe('mysqld of shop-0 does not come up')
    expect(String(lossOfReboot(given(), null))).toBe('what only shop-0 may hold would be given up')
  })
})

describe('The one that is to form the group, whose mysqld does not come up', () => {
  const forming = (promise: number, more: GroupSituation = {}) =>
    given({ record: groupRecord(true), ...more, views: { 'shop-0': down(3, { stored: { promise } }), ...more.views } })
  const waits = { 'shop-1': {}, 'shop-2': {} }

  it('holds nobody up for ever: everybody promises the next epoch, and a person may give up what it alone holds', () => {
    expect(ordersOf(decide(forming(1, { views: waits })))).toEqual([
      'promise shop-0 2@5',
      'promise shop-1 2@5',
      'promise shop-2 2@5',
    ])
    expect(wayOut(forming(2))?.command).toEqual({ verb: 'failover', to: null, acceptLoss: true })
    expect(committed(decide(forming(2, asked(true)))).primary).toBe(shop1)
  })

  it('and that comes up all the same once it has promised, forms it in that epoch', () => {
    const up = { 'shop-0': promised() }
    expect(committed(decide(given({ record: groupRecord(true), views: up })))).toMatchObject({ epoch: 2 })
  })

  it('is waited for where the record names nobody else', () => {
    const record = { ...groupRecord(true), syncSet: [] }
    expect(ordersOf(decide(forming(1, { record })))).not.toContain('promise shop-0 2@5')
  })
})

it('A person may name another one than the one that is to form the group and does not get there', () => {
  const views = { 'shop-0': {}, 'shop-1': {}, 'shop-2': {} }
  const named = given({ record: groupRecord(true), views, ...asked(false, 'shop-1') })
  expect(ordersOf(decide(named))).toContain('promise shop-0 2@5')
  const isIn = given({ record: groupRecord(true), views, sees: {}, ...asked(false, 'shop-1') })
  expect(ordersOf(decide(isIn)).filter((order) => order.startsWith('promise'))).toEqual([])
})
