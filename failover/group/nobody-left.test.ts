import { describe, expect, it } from 'vitest'
import { gtids, memberOf, type ViewOverrides } from '#topology/testing.ts'
import { groupName } from '#topology/testing-group.ts'
import { memberId } from '#topology/snapshot/member.ts'
import { decide } from '../decide.ts'
import { unknownLoss } from '../protocol/notes.ts'
import { committed, lossIn, ordersOf, promised, shop0, shop1, shop2 } from '../testing.ts'
import { whyNoFailover } from '../way-out/asked-failover.ts'
import { wayOut } from '../way-out/way-out.ts'
import { lossOfReboot, whyNeverForms } from './reboot.ts'
import { aGroupSituation, groupRecord, nobodyIn, type GroupSituation, askedFor } from './testing-group.ts'

const silent = { reachable: false } as const
const alive = { 'shop-0': 'ONLINE', 'shop-2': 'ONLINE' } as const
const replaced = memberId('shop-0', 'another-volume')

/** The record names shop-0 alone, as of a new cluster, or while the others are seeded. */
const given = (more: GroupSituation = {}) =>
  aGroupSituation({
    sees: nobodyIn,
    nowMs: 10_000,
    ...more,
    record: { syncSet: [], ...more.record },
    views: { 'shop-0': silent, ...more.views },
  })

/** Its agent answers, and starts mysqld in vain. */
const down: ViewOverrides = { process: 'dead', server: null, startsFailed: 3 }
const gone: Readonly<Record<string, GroupSituation>> = {
  'does not answer': {},
  'lives on another volume': { views: { 'shop-0': { member: replaced } } },
  'is to form the group, and does not answer': { record: groupRecord(true) },
  'is to form the group, and does not come up': { record: groupRecord(true), views: { 'shop-0': down } },
}

describe('Where the only member that the record names', () => {
  it.each(Object.entries(gone))('%s, a person may choose another instance, by name', (_, more) => {
    expect(whyNoFailover(given(more), { to: 'shop-1', acceptLoss: true })).toBeNull()
    expect(ordersOf(decide(given({ ...more, ...askedFor('shop-1') })))).toContain('promise shop-1 2@5')
    expect(wayOut(given(more))?.command).toMatchObject({ verb: 'failover', acceptLoss: true })
  })

  it('does not answer, that is said, with the command', () => {
    const decision = decide(given())
    expect(decision.sentence).toBe(
      'nobody who answers is in the group; silent: shop-0. The last writes may be on shop-0 alone: bring it back, or choose who leads: regent failover --accept-loss --to <instance>',
    )
    expect(decide(given(askedFor(null)))).toMatchObject({ sentence: decision.sentence, blocked: true })
  })

  it('does not answer, the chosen one forms a group of another name, whatever others hold', () => {
    const views = { 'shop-1': promised(99), 'shop-2': promised(100) }
    const decision = decide(given({ views, ...askedFor('shop-1') }))
    const next = committed(decision)
    expect(next).toMatchObject({ epoch: 2, primary: shop1, syncSet: [], group: { forming: true } })
    expect(next.group?.name).not.toBe(groupName)
    expect(lossIn(decision)).toEqual(unknownLoss)
    expect(decision.sentence).toBe(
      'shop-1 forms the group anew: it holds all 99 transactions of shop-1; given up: what only shop-0 may hold',
    )
  })

  it('does not answer, nobody else counts as it is beside a chosen one that left because of its data', () => {
    const views = { 'shop-1': promised(99, { stored: { opened: true } }), 'shop-2': promised(99) }
    expect(String(lossOfReboot(given({ views }), 'shop-1'))).toContain('nobody else would count before being seeded')
    expect(committed(decide(given({ views, ...askedFor('shop-1') })))).toMatchObject({
      primary: shop1,
      syncSet: [],
      doubted: { since: 2, members: [shop0, shop2] },
    })
    expect(committed(decide(given({ views, ...askedFor('shop-2') }))).doubted).toBeUndefined()
  })

  it('is to form the group and does not come up, that is said, with the command', () => {
    expect(decide(given(gone['is to form the group, and does not come up'])).sentence).toBe(
      'mysqld of shop-0 does not come up, and nobody else is to form the group: put right why, or choose who leads: regent failover --accept-loss --to <instance>',
    )
  })

  it('lives on another volume, the instance itself may be chosen as it is now', () => {
    const promiseReport = { epoch: 2, holds: '', executed: '', asPrimary: false }
    const views = { 'shop-0': promised(1, { member: replaced, promiseReport }) }
    expect(whyNeverForms(given({ views }), 'shop-0')).toBeNull()
    expect(committed(decide(given({ views, ...askedFor('shop-0') }))).primary).toBe(replaced)
  })

  it.each<[string, GroupSituation]>([
    ['answers', { views: { 'shop-0': {} } }],
    ['is to form the group and is just doing so', { record: groupRecord(true), views: { 'shop-0': {} } }],
    ['is silent, and its group goes on', { record: groupRecord(true), sees: { 'shop-2': { members: alive } } }],
    ['is starting', { views: { 'shop-0': { process: 'starting', server: null } } }],
  ])('%s, nobody else may be chosen', (_, more) => {
    expect(String(whyNeverForms(given(more), 'shop-1'))).toBe('shop-1 is no member of the group that the record names')
    expect(ordersOf(decide(given({ ...more, ...askedFor('shop-1') })))).not.toContain('promise shop-1 2@5')
  })

  it.each<[string, ViewOverrides]>([
    ['does not answer', silent],
    ['began to be seeded', { process: 'dead', server: null, stored: { seeding: true } }],
    ['went back in time', { past: shop1, member: memberOf('shop-1') }],
  ])('is gone, an instance that %s may not be chosen', (_, view) => {
    expect(whyNeverForms(given({ views: { 'shop-1': view } }), 'shop-1')).not.toBeNull()
  })
})

it('Nobody beside the record is chosen while a member is left that the record names', () => {
  const views = { 'shop-1': promised(99), 'shop-2': promised(100) }
  const more = { record: { syncSet: [shop2] }, views }
  expect(String(whyNeverForms(given(more), 'shop-1'))).toBe('shop-1 is no member of the group that the record names')
  expect(committed(decide(given({ ...more, ...askedFor(null) }))).primary).toBe(shop2)
})

it('What the chosen one lacks of a member that promised, and did not come up since, is unknown', () => {
  const views = {
    'shop-0': { ...down, stored: { promise: 2 } },
    'shop-1': promised(100, { server: { executed: gtids('shop-0', 100) } }),
  }
  const decision = decide(given({ record: groupRecord(true), views, ...askedFor('shop-1') }))
  expect(committed(decision).primary).toBe(shop1)
  expect(lossIn(decision)).toEqual(unknownLoss)
})
