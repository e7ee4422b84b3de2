import { describe, expect, it } from 'vitest'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { groupName, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import { decide, modeOf } from '../decide.ts'
import { isWell } from '../judge/primary/verdict.ts'
import type { Action } from '../protocol/decision.ts'
import { unknownLoss } from '../protocol/notes.ts'
import { committed, lossIn, memberElsewhere, never, ordersOf, promised, shop0, shop1, shop2 } from '../testing.ts'
import { lossOfReboot, stepsOfReboot, whyNeverForms, whyNoReboot } from './reboot.ts'
import { aGroupSituation, groupRecord, nobodyIn, revision, tasksIn, type GroupSituation } from './testing-group.ts'

const silent = { reachable: false } as const
const forced = (acceptLoss: boolean, to: string | null = null) =>
  ({ requests: [{ kind: 'failover', id: 'asked', to, acceptLoss }] }) as const
const paused = { notes: { paused: { reason: 'maintenance', wallMs: 0 } } } as const

function after(given: GroupSituation = {}) {
  return decide(aGroupSituation({ sees: nobodyIn, nowMs: 10_000, ...given }))
}

/** shop-0 alone holds the last of 100 transactions, shop-1 two of its own, shop-2 neither. */
const own = `${gtids('shop-0', 99)},${gtids('shop-1', 2)}`
const divergent = {
  'shop-0': promised(100),
  'shop-1': promised(99, { promiseReport: { epoch: 2, holds: own, executed: own, asPrimary: false } }),
  'shop-2': promised(99),
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

  it('the lowest version of those that hold everything leads: no lower one could join', () => {
    const lower = (last: number) => promised(last, { server: { version: '8.4.6' } })
    expect(committed(after({ views: { ...allPromised, 'shop-2': lower(100) } })).primary).toBe(shop2)
    expect(committed(after({ views: { ...allPromised, 'shop-2': lower(99) } })).primary).toBe(shop0)
  })

  it('one whose data are in doubt leads only where it is the only one that holds everything', () => {
    const opened = (last: number) => promised(last, { stored: { opened: true } })
    expect(committed(after({ views: { ...allPromised, 'shop-0': opened(100) } })).primary).toBe(shop1)
    const alone = { 'shop-0': opened(100), 'shop-1': promised(99), 'shop-2': promised(99) }
    expect(committed(after({ views: alone })).primary).toBe(shop0)
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

  it('one that is fenced, may not lead by its policy, or is in downtime leads only where nobody else holds everything', () => {
    const views = { ...allPromised, 'shop-0': promised(99) }
    const alone = { ...views, 'shop-2': promised(99) }
    const downtimes = [{ instance: 'shop-1', untilWallMs: 1_000_001, reason: 'a new disk', owner: '' }]
    for (const given of [
      { notes: { fenced: [{ instance: 'shop-1', keepPrimary: false, wallMs: 0 }] } },
      { notes: { downtimes } },
      { spec: { policies: { 'shop-1': never } } },
    ]) {
      expect(committed(after({ views, ...given })).primary).toBe(shop2)
      expect(committed(after({ views: alone, ...given })).primary).toBe(shop1)
    }
    const fenced = [{ instance: 'shop-0', keepPrimary: true, wallMs: 0 }]
    expect(committed(after({ views: allPromised, notes: { fenced } })).primary).toBe(shop0)
  })

  it('nobody leads where each lacks something: what each alone holds is said, and how a person decides', () => {
    const decision = after({ views: divergent })
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toBe(
      'no member holds everything that the others hold: shop-0 alone has 1 transaction, lacks 2, shop-1 alone has 2 transactions, lacks 1 and shop-2 alone has 0 transactions, lacks 3. Choose who leads: regent failover --accept-loss --to <instance>',
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
      'nobody who answers is in the group; silent: shop-2. The last writes may be on shop-2 alone: bring it back, or give those up: regent failover --accept-loss',
    )
    expect(decision).toMatchObject({ blocked: true })
    expect(decision.actions.filter(({ kind }) => kind !== 'assign')).toEqual([])
  })

  it('nobody joins who would join in vain: who does cannot be stopped, and would be ended to promise', () => {
    expect(tasksIn(after({ views: { 'shop-2': silent } }))).toEqual(['shop-0 stayOut', 'shop-1 stayOut'])
    const starting: ViewOverrides = { process: 'starting', server: null }
    expect(tasksIn(after({ views: { 'shop-1': starting, 'shop-2': silent } }))).toContain('shop-1 stayOut')
  })

  it.each<[string, GroupSituation]>([
    ['joins at this moment', { views: { 'shop-1': { joinsGroup: true }, 'shop-2': silent } }],
    ['was a member by a look that is old', { sees: { 'shop-0': outsideGroup(), 'shop-2': outsideGroup() } }],
    ['has not looked yet', { views: { 'shop-1': { server: null }, 'shop-2': silent } }],
  ])('whoever %s is not told to leave', (_, given) => {
    const views = { ...given.views, 'shop-1': { ...given.views?.['shop-1'], silentMs: 5_000 } }
    expect(tasksIn(after({ ...given, views })).join()).not.toContain('shop-1')
  })

  it('two are named together', () => {
    expect(after({ views: { 'shop-1': silent, 'shop-2': silent } }).sentence).toContain(
      'The last writes may be on shop-1 and shop-2 alone: bring them back',
    )
  })

  it('one that answers, on a volume that went back in time, is not said to be silent: what helps is one command', () => {
    const past: ViewOverrides = { past: shop2, member: 'shop-2@volume-2~before' }
    const decision = after({ views: { 'shop-2': past } })
    expect(decision.sentence).toBe(
      'no instance is in the group. shop-2 may have held the last writes, and its volume went back in time: put the newer volume back, or give those up: regent failover --accept-loss; shop-2 is seeded again by itself after that',
    )
    expect(decision).toMatchObject({ blocked: true })
    expect(after({ views: { 'shop-1': silent, 'shop-2': past } }).sentence).toContain(
      'The last writes may be on shop-1 alone: bring it back; shop-2 may have held the last writes, and its volume went back in time: put the newer volume back, or give those up: regent failover --accept-loss',
    )
    const situation = aGroupSituation({ views: { 'shop-2': past } })
    expect(String(whyNoReboot(situation))).toBe('the volume of shop-2 went back in time')
    expect(whyNeverForms(situation, 'shop-2')).toEqual('the volume of shop-2 went back in time')
    const given = { views: { 'shop-0': promised(100), 'shop-1': promised(100), 'shop-2': past }, ...forced(true) }
    expect(committed(after(given))).toMatchObject({ epoch: 2, primary: shop0 })
  })

  it('so it is where its instance lives on another volume', () => {
    expect(after({ record: { syncSet: [shop1, memberElsewhere] } }).sentence).toContain(
      'The last writes may be on shop-2 alone',
    )
  })

  it('a person who asks for a failover without accepting loss is told the same', () => {
    expect(after({ views, ...forced(false) }).sentence).toContain('The last writes may be on shop-2 alone')
  })

  it('a person may give it up: the others go on, and what is given up is said', () => {
    const decision = after({ views, ...forced(true) })
    expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop0, group: { forming: true } })
    expect(committed(decision).syncSet).not.toContain(shop2)
    expect(lossIn(decision)).toEqual(unknownLoss)
    expect(decision.sentence).toBe(
      'shop-0 forms the group anew: it holds all 100 transactions of shop-0 and shop-1; given up: what only shop-2 may hold',
    )
  })

  it.each<[string, GroupSituation]>([
    ['was heard a moment ago', { nowMs: 2_199 }],
    ['may answer yet', { inFlight: new Map([['shop-2', { order: 'promise', sinceMs: 9_000 }]]) }],
  ])('nobody gives up who %s', (_, given) => {
    const decision = after({ views, ...forced(true), ...given })
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
    expect(decision).toMatchObject({ blocked: true, revisitMs: 1_200 })
    expect(decision.sentence).toMatch(/; shop-2 was heard a moment ago: nothing is given up before that lasts$/)
  })

  it('a person who gives it up still has everybody asked who answers', () => {
    expect(ordersOf(after({ views: { 'shop-2': silent }, ...forced(true) }))).toEqual([
      'promise shop-0 2@5',
      'promise shop-1 2@5',
    ])
  })

  it('the member that a person names leads where it holds everything that those who answer hold', () => {
    expect(committed(after({ views, ...forced(true, 'shop-1') })).primary).toBe(shop1)
  })

  it('one that lacks something leads only where loss is accepted: what others hold is named, and they are left out', () => {
    const behind = { ...views, 'shop-1': promised(99) }
    expect(committed(after({ views: behind, ...forced(true) })).primary).toBe(shop0)
    const decision = after({ views: behind, ...forced(true, 'shop-1') })
    expect(committed(decision)).toMatchObject({ primary: shop1, syncSet: [] })
    expect(decision.sentence).toBe(
      'shop-1 forms the group anew: a person chose its 99 transactions; given up: 1 transaction of shop-0 and what only shop-2 may hold',
    )
  })
})

describe('Where members each hold something that the others lack', () => {
  it('a person who accepts loss and names nobody is told whom to choose from', () => {
    expect(after({ views: divergent, ...forced(true) })).toMatchObject({
      actions: [],
      blocked: true,
      sentence: expect.stringContaining('shop-1 alone has 2 transactions, lacks 1') as string,
    })
  })

  it('a person who names somebody without accepting loss is told what would be given up', () => {
    const decision = after({ views: divergent, ...forced(false, 'shop-0') })
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toBe(
      'shop-0 lacks 2 transactions that others hold: to give them up, use: regent failover --accept-loss --to shop-0',
    )
  })

  it('the one that a person names leads a group of another name, and those that hold more are no members of it', () => {
    const decision = after({ views: divergent, ...forced(true, 'shop-0') })
    expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop0, syncSet: [shop2], group: { forming: true } })
    expect(committed(decision).group?.name).not.toBe(groupName)
    expect(decision.sentence).toBe(
      'shop-0 forms the group anew: a person chose its 100 transactions; given up: 2 transactions of shop-1',
    )
  })

  it('nobody leads by a person’s word before everybody who answers was compared', () => {
    const views = { ...divergent, 'shop-2': {} }
    expect(ordersOf(after({ views, ...forced(true, 'shop-0') }))).toEqual(['promise shop-2 2@5'])
  })

  it('what a choice would give up is known beforehand', () => {
    const situation = aGroupSituation({ sees: nobodyIn, views: { ...divergent, 'shop-2': silent } })
    expect(String(lossOfReboot(situation, 'shop-0'))).toBe(
      '2 transactions of shop-1 and what only shop-2 may hold would be given up',
    )
    expect(lossOfReboot(aGroupSituation({ sees: nobodyIn, views: allPromised }), null)).toEqual(
      'nothing that is known of would be given up',
    )
  })
})

describe('A server that stands still', () => {
  const last: GroupShape = {}
  const still = (silentMs: number, more: ViewOverrides = {}) => ({ 'shop-1': { silentMs, ...more } })
  const sees = { ...nobodyIn, 'shop-1': last }

  it('and was a member by its last word is waited for: nobody is asked to leave the group', () => {
    const decision = after({ sees, views: still(2_000) })
    expect(ordersOf(decision).filter((order) => order.startsWith('promise'))).toEqual([])
    expect(decision).toMatchObject({
      blocked: true,
      sentence:
        'no instance is in the group; shop-1 was a member and does not answer at this moment: the group is formed anew where that lasts 10 s',
    })
  })

  it('so it is where every server of one machine stands still', () => {
    const views = { 'shop-0': { silentMs: 2_000 }, 'shop-1': { silentMs: 2_000 }, 'shop-2': { silentMs: 2_000 } }
    expect(after({ sees: {}, views })).toMatchObject({ actions: [], blocked: true })
  })

  it.each<[string, GroupSituation]>([
    ['for too long', { sees, views: still(10_000) }],
    ['and was outside of the group by its last word', { views: still(2_000) }],
    ['and has died since', { sees, views: still(2_000, { process: 'dead' }) }],
    ['and has promised already', { sees, views: still(2_000, { stored: { promise: 2 } }) }],
    ['while a person asks for a failover', { sees, views: still(2_000), ...forced(false) }],
  ])('is not waited for where it does so %s', (_, given) => {
    expect(ordersOf(after(given))).toContain('promise shop-1 2@5')
  })
})

describe('No group is formed beside another one that may live', () => {
  const names = ['shop-0', 'shop-1', 'shop-2'] as const
  const out = () => outsideGroup()
  const whole = (): GroupShape => ({})
  const alone = (name: string): GroupShape => ({
    members: Object.fromEntries(names.map((one) => [one, one === name ? 'ONLINE' : 'UNREACHABLE'])),
  })
  /** What an instance may be while the group has no majority that is seen, and whether it is proven to be outside. */
  const states: Readonly<Record<string, { view: ViewOverrides; seen: (name: string) => GroupShape; isOut: boolean }>> =
    {
      'promised outside': { view: promised(100), seen: out, isOut: true },
      'promised, without a report': { view: { stored: { promise: 2 } }, seen: out, isOut: false },
      'promised before the record changed': {
        view: promised(100, { stored: { revision: revision - 1 } }),
        seen: out,
        isOut: false,
      },
      'outside, and not asked yet': { view: {}, seen: out, isOut: false },
      'its server is dead': { view: { process: 'dead', server: null }, seen: out, isOut: false },
      silent: { view: silent, seen: whole, isOut: false },
      'a member that hears nobody else': { view: {}, seen: alone, isOut: false },
      'a member that stands still': { view: { silentMs: 2_000 }, seen: whole, isOut: false },
    }
  const kinds = Object.keys(states)
  const cases = kinds.flatMap((a) => kinds.flatMap((b) => kinds.map((c) => [a, b, c] as const)))

  const decidedFor = (of: readonly string[], asked: GroupSituation) => {
    const each = names.map((name, at) => [name, states[of[at] ?? '']!] as const)
    const views = Object.fromEntries(each.map(([name, { view }]) => [name, view]))
    const sees = Object.fromEntries(each.map(([name, { seen }]) => [name, seen(name)]))
    return decide(aGroupSituation({ sees, views, nowMs: 10_000, ...asked }))
  }
  const forms = ({ actions }: { actions: readonly Action[] }) => actions.some(({ kind }) => kind === 'commit')

  it('whatever each of three is: only with all of them outside, under a promise that counts', () => {
    const formed = cases.filter((of) => forms(decidedFor(of, {})))
    expect(formed).toEqual([['promised outside', 'promised outside', 'promised outside']])
  })

  it('a person may give up silent ones alone: whoever answers is outside first', () => {
    const formed = cases.filter((of) => forms(decidedFor(of, forced(true))))
    expect(formed.filter((of) => of.some((one) => one !== 'silent' && states[one]?.isOut !== true))).toEqual([])
    expect(formed.length).toBeGreaterThan(1)
  })
})

describe('Without a majority', () => {
  const left: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'UNREACHABLE', 'shop-2': 'UNREACHABLE' } }
  const sees = { 'shop-0': left, 'shop-1': outsideGroup(), 'shop-2': outsideGroup() }

  it('nothing is begun while those that are lost may still be the group', () => {
    const decision = after({ sees, views: { 'shop-1': silent, 'shop-2': silent } })
    expect(decision.sentence).toContain('The last writes may be on shop-1 and shop-2 alone')
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
      sentence: expect.stringContaining('The last writes may be on shop-0 alone') as string,
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
  expect(String(whyNoReboot(aGroupSituation({ views: { 'shop-1': silent } })))).toBe('shop-1 does not answer')
})

it('Who cannot form the group anew, whatever is given up, is said beforehand', () => {
  const situation = aGroupSituation({ record: { syncSet: [shop1] }, views: { 'shop-1': silent } })
  expect(whyNeverForms(situation, 'shop-0')).toBeNull()
  expect(String(whyNeverForms(situation, 'shop-1'))).toBe('shop-1 does not answer')
  expect(whyNeverForms(situation, 'shop-2')).toEqual('shop-2 is no member of the group that the record names')
  expect(whyNeverForms(situation, 'shop-7')).toEqual('there is no instance shop-7')
})

describe('A person’s failover', () => {
  const judged = (given: GroupSituation) => {
    const situation = aGroupSituation(given)
    return isWell(modeOf(situation.spec).judge(situation))
  }

  it('is for a group without a majority, also where the server of its primary runs', () => {
    expect(judged({ sees: nobodyIn })).toBe(false)
    expect(judged({ record: groupRecord(true) })).toBe(false)
  })

  it('is for nobody while the group has a primary that is well', () => {
    expect(judged({})).toBe(true)
    expect(judged({ views: { 'shop-0': { process: 'dead' } } })).toBe(false)
  })
})
