import { describe, expect, it } from 'vitest'
import { gtids, type ViewOverrides } from '../../topology/testing.ts'
import { groupName, outsideGroup, type GroupShape } from '../../topology/testing-group.ts'
import { decide } from '../decide.ts'
import { committed, memberElsewhere, ordersOf, shop0, shop1, shop2 } from '../testing.ts'
import { stepsOfReboot, whyNoReboot } from './reboot.ts'
import { aGroupSituation, groupRecord, nobodyIn, revision, tasksIn, type GroupSituation } from './testing-group.ts'

const silent = { reachable: false } as const
const forced = (acceptLoss: boolean, to: string | null = null) =>
  ({ requests: [{ kind: 'failover', id: 'asked', to, acceptLoss }] }) as const
const paused = { notes: { paused: { reason: 'maintenance', wallMs: 0 } } } as const

/** It promised epoch 2 at the record's revision, and holds the first `last` transactions of shop-0. */
function promised(last: number, more: ViewOverrides = {}): ViewOverrides {
  const holds = gtids('shop-0', last)
  return {
    promiseReport: { epoch: 2, holds, executed: holds, asPrimary: false },
    ...more,
    stored: { promise: 2, ...more.stored },
  }
}

function after(given: GroupSituation = {}) {
  return decide(aGroupSituation({ sees: nobodyIn, ...given }))
}

const allPromised = { 'shop-0': promised(100), 'shop-1': promised(100), 'shop-2': promised(100) }

describe('After a full outage', () => {
  it('everybody whom the record names is asked for the next epoch, and for what each holds', () => {
    const decision = after()
    expect(ordersOf(decision)).toEqual(['promise shop-0 2@5', 'promise shop-1 2@5', 'promise shop-2 2@5'])
    expect(decision).toMatchObject({
      sentence:
        'no instance is in the group: asking shop-0, shop-1 and shop-2 to promise epoch 2 and to say what they hold',
      flow: 'failover',
      blocked: true,
    })
  })

  it('those that have not promised yet are asked alone', () => {
    expect(ordersOf(after({ views: { ...allPromised, 'shop-2': {} } }))).toEqual(['promise shop-2 2@5'])
  })

  it.each<[string, ViewOverrides]>([
    ['of another epoch', promised(100, { promiseReport: { epoch: 1, holds: '', executed: '', asPrimary: false } })],
    ['given before the record was changed last', promised(100, { stored: { revision: revision - 1 } })],
    ['without a report', { stored: { promise: 2 } }],
  ])('a promise %s does not count', (_, view) => {
    expect(ordersOf(after({ views: { ...allPromised, 'shop-1': view } }))).toEqual(['promise shop-1 2@5'])
  })

  it('the primary forms the group anew where it holds everything', () => {
    const decision = after({ views: allPromised })
    expect(committed(decision)).toMatchObject({
      epoch: 2,
      revision: revision + 1,
      primary: shop0,
      syncSet: [shop1, shop2],
      leaving: [],
      intent: null,
      group: { name: groupName, forming: true },
    })
    expect(decision).toMatchObject({
      sentence: 'shop-0 forms the group anew: it holds all 100 transactions of shop-0, shop-1 and shop-2',
      flow: 'failover',
    })
  })

  it('the one that holds what all hold leads, whoever was primary', () => {
    const views = { 'shop-0': promised(98), 'shop-1': promised(99), 'shop-2': promised(100) }
    expect(committed(after({ views })).primary).toBe(shop2)
  })

  it('the lowest ordinal leads among those that hold the same, where the primary holds less', () => {
    expect(committed(after({ views: { ...allPromised, 'shop-0': promised(99) } })).primary).toBe(shop1)
  })

  it('nobody leads where each lacks something, and each is named with what it lacks', () => {
    const other = gtids('shop-1', 2)
    const errant = promised(100, { promiseReport: { epoch: 2, holds: other, executed: other, asPrimary: false } })
    const decision = after({ views: { ...allPromised, 'shop-1': errant } })
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toBe(
      'no member holds everything that the others hold (shop-0 lacks 2, shop-1 lacks 100, shop-2 lacks 2 transactions): a person decides whose to give up',
    )
  })

  it('an instance that the record does not name is not waited for, and has no say', () => {
    const views = { 'shop-0': promised(100), 'shop-1': promised(100), 'shop-2': silent }
    expect(committed(after({ record: { syncSet: [shop1] }, views })).primary).toBe(shop0)
    expect(
      committed(after({ record: { syncSet: [shop1] }, views: { ...views, 'shop-2': promised(120) } })).primary,
    ).toBe(shop0)
  })

  it('one that leaves is asked too: it may still hold what others lack', () => {
    expect(ordersOf(after({ record: { leaving: [shop2] } }))).toContain('promise shop-2 2@5')
  })

  it('nothing is done while it is paused, unless a person asks for it', () => {
    expect(after({ views: allPromised, ...paused })).toMatchObject({
      sentence: 'no instance is in the group, but the cluster is paused: maintenance',
      blocked: true,
      actions: [],
    })
    expect(committed(after({ views: allPromised, ...paused, ...forced(false) })).epoch).toBe(2)
  })
})

describe('Where a member that the record names does not answer', () => {
  const views = { 'shop-0': promised(100), 'shop-1': promised(100), 'shop-2': silent }

  it('it is named, and nobody is asked for anything', () => {
    const decision = after({ views: { 'shop-2': silent } })
    expect(decision.sentence).toBe(
      'nobody who answers is in the group, and nothing is known of shop-2. shop-2 may hold what was acknowledged last and does not answer: bring it back, or give up what only it may hold: regent failover shop --accept-loss',
    )
    expect(decision).toMatchObject({ blocked: true })
    expect(decision.actions.filter(({ kind }) => kind !== 'assign')).toEqual([])
  })

  it('two are named together', () => {
    expect(after({ views: { 'shop-1': silent, 'shop-2': silent } }).sentence).toContain(
      'shop-1 and shop-2 may hold what was acknowledged last and do not answer: bring them back',
    )
  })

  it('so it is where its instance lives on another volume', () => {
    expect(after({ record: { syncSet: [shop1, memberElsewhere] } }).sentence).toContain(
      'shop-2 may hold what was acknowledged last',
    )
  })

  it('a person who asks for a failover without accepting loss is told the same', () => {
    expect(after({ views, ...forced(false) }).sentence).toContain('shop-2 may hold what was acknowledged last')
  })

  it('a person may give it up: the others go on, and what is given up is said', () => {
    const decision = after({ views, ...forced(true) })
    expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop0, group: { forming: true } })
    expect(committed(decision).syncSet).not.toContain(shop2)
    expect(decision.sentence).toBe(
      'shop-0 forms the group anew: it holds all 100 transactions of shop-0 and shop-1; given up: what only shop-2 may hold',
    )
  })

  it('a person who gives it up still has everybody asked who answers', () => {
    expect(ordersOf(after({ views: { 'shop-2': silent }, ...forced(true) }))).toEqual([
      'promise shop-0 2@5',
      'promise shop-1 2@5',
    ])
  })

  it('the member that a person names leads, but only with everything that those who answer hold', () => {
    expect(committed(after({ views, ...forced(true, 'shop-1') })).primary).toBe(shop1)
    const behind = { ...views, 'shop-1': promised(99) }
    expect(after({ views: behind, ...forced(true, 'shop-1') })).toMatchObject({ actions: [], blocked: true })
  })
})

describe('Without a majority', () => {
  const left: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'UNREACHABLE', 'shop-2': 'UNREACHABLE' } }
  const sees = { 'shop-0': left, 'shop-1': outsideGroup(), 'shop-2': outsideGroup() }

  it('nothing is begun while those that are lost may still be the group', () => {
    const decision = after({ sees, views: { 'shop-1': silent, 'shop-2': silent } })
    expect(decision.sentence).toContain('shop-1 and shop-2 may hold what was acknowledged last and do not answer')
    expect(decision.actions.filter(({ kind }) => kind !== 'assign')).toEqual([])
  })

  it('everybody is asked once all answer, also the one that is left', () => {
    expect(ordersOf(after({ sees }))).toEqual(['promise shop-0 2@5', 'promise shop-1 2@5', 'promise shop-2 2@5'])
  })
})

it('Two groups are left alone: nobody is told anything', () => {
  const sees = {
    'shop-0': { members: { 'shop-0': 'ONLINE' } },
    'shop-1': { members: { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' }, primary: 'shop-1' },
    'shop-2': { members: { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' }, primary: 'shop-1' },
  } as const
  expect(after({ sees, ...forced(true) })).toMatchObject({ actions: [], blocked: true })
  expect(after({ sees }).sentence).toContain('a person decides whose writes count')
})

describe('The others', () => {
  const stale = { stored: { revision: 4, promise: 2 }, promiseReport: null }

  it('stay in the record, so that they can go on where the leader is lost before they joined', () => {
    const record = { ...groupRecord(true), syncSet: [shop1, shop2] }
    const views = { ...allPromised, 'shop-0': silent }
    expect(after({ record, views })).toMatchObject({
      sentence: expect.stringContaining('shop-0 may hold what was acknowledged last') as string,
    })
    expect(committed(after({ record, views, ...forced(true) }))).toMatchObject({ primary: shop1, syncSet: [shop2] })
  })

  it('join after that again only once the group is formed', () => {
    const record = { epoch: 2, syncSet: [shop1, shop2] }
    const views = { 'shop-0': stale, 'shop-1': stale, 'shop-2': stale }
    const decision = after({ record: { ...record, ...groupRecord(true) }, views })
    expect(tasksIn(decision)).toEqual(['shop-0 form', 'shop-1 stayOut', 'shop-2 stayOut'])
    // One recovery, from the outage until the group takes writes.
    expect(decision.flow).toBe('failover')
  })
})

it('What a reboot does, and why it cannot be without loss, is said beforehand', () => {
  expect(stepsOfReboot(aGroupSituation())).toEqual([
    'each of shop-0, shop-1 and shop-2 leaves what is left of the group and promises epoch 2',
    'the one that holds everything forms the group anew, the others join it, the route moves',
  ])
  expect(whyNoReboot(aGroupSituation())).toBeNull()
  expect(whyNoReboot(aGroupSituation({ views: { 'shop-1': silent } }))).toBe('shop-1 does not answer')
})
