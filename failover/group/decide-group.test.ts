import { describe, expect, it } from 'vitest'
import { groupName, outsideGroup, viewId, type GroupShape } from '#topology/testing-group.ts'
import type { ViewOverrides } from '#topology/testing.ts'
import { analyse, decide, modeOf } from '../decide.ts'
import { committed, ordersOf, shop0, shop1, shop2, switchoverIntent } from '../testing.ts'
import {
  aGroupSituation,
  groupRecord,
  nobodyIn,
  revision,
  storedAs,
  tasksIn,
  type GroupSituation,
} from './testing-group.ts'

const after = (given: GroupSituation = {}) => decide(aGroupSituation(given))
const silent = { reachable: false } as const

/** The group went on without shop-0 and made shop-1 primary. */
const without0: GroupShape = {
  members: { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' },
  primary: 'shop-1',
  viewId: viewId(6),
}
const formedSince: GroupShape = { viewId: '17321234567890000:1' }
const failedOver: GroupSituation = {
  sees: { 'shop-0': outsideGroup(), 'shop-1': without0, 'shop-2': without0 },
  views: { 'shop-0': silent },
}

describe('A group that is well', () => {
  it('needs nothing', () => {
    expect(after()).toEqual({
      condition: 'primaryWell',
      sentence: 'no action: shop-0 is primary of the group, 3 of 3 members online',
      news: 'no action: shop-0 is primary of the group, # of # online',
      flow: null,
      actions: [],
      blocked: false,
      reasons: [],
      revisitMs: null,
    })
  })

  it('has its members told what they are not told yet, each what it is to do', () => {
    const old = { stored: { revision: 4 } } as const
    const behind = (name: string): ViewOverrides => {
      const { assignment } = aGroupSituation().snapshot.instances.find((view) => view.name === name)!.observation!
        .stored
      return { stored: { assignment: { ...assignment!, revision: 4 } } }
    }
    expect(tasksIn(after({ views: { 'shop-1': behind('shop-1'), 'shop-2': old } }))).toEqual(['shop-1 join'])
  })

  it('moves the route to the primary of the record, in one write', () => {
    expect(after({ published: undefined }).actions).toContainEqual({
      kind: 'route',
      route: { epoch: 1, instance: 'shop-0', host: '127.24.1.1', port: 3306 },
    })
  })

  it('goes on in the epoch that somebody promised for a group that was to be formed anew, and need not be', () => {
    const two: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' } }
    const sees = { 'shop-0': two, 'shop-1': two, 'shop-2': outsideGroup() }
    const decision = after({ views: { 'shop-2': { stored: { promise: 2 } } }, sees })
    expect(committed(decision)).toMatchObject({
      epoch: 2,
      revision: revision + 1,
      primary: shop0,
      syncSet: [shop1, shop2],
    })
    expect(decision.sentence).toBe('the group goes on with shop-0 in epoch 2, which shop-2 promised')
  })

  it('waits for the primary where that is just asked to promise: a primary that does leaves its group', () => {
    const views = { 'shop-2': { stored: { promise: 2 } } }
    const inFlight = new Map([['shop-0', { order: 'promise', sinceMs: 0 }]])
    expect(after({ views, inFlight })).toMatchObject({
      sentence: 'shop-2 promised epoch 2, and so may shop-0 at this moment: its answer is waited for',
      actions: [],
      blocked: true,
    })
  })

  it('that misses a member says so, and looks again', () => {
    const views = { 'shop-2': silent }
    const two: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' } }
    expect(after({ views, sees: { 'shop-0': two, 'shop-1': two } })).toMatchObject({
      sentence: 'no action: shop-0 is primary of the group, 2 of 3 members online: shop-2 is missing',
      actions: [],
      revisitMs: 1_000,
    })
  })

  it('whose primary is not open says why', () => {
    const views = { 'shop-0': { converged: { revision, done: false, sentence: 'closed: low space' } } }
    expect(after({ views })).toMatchObject({
      sentence: 'no action: shop-0 is primary of the group, 3 of 3 members online; closed: low space',
      blocked: true,
    })
  })
})

describe('A consistency that the spec says otherwise by now', () => {
  const told = (name: string, groupConsistency: string) => ({
    stored: storedAs(name, { assignment: { ...storedAs(name).assignment!, groupConsistency } }),
  })
  const consistencies = (given: GroupSituation) =>
    after(given).actions.flatMap((action) =>
      action.kind === 'assign' ? [`${action.to} ${action.order.group?.consistency}`] : [],
    )

  it('is told to each member at once, by the same revision', () => {
    const views = { 'shop-0': told('shop-0', 'EVENTUAL'), 'shop-1': told('shop-1', 'AFTER') }
    expect(consistencies({ views, spec: { group: { consistency: 'AFTER' } } })).toEqual(['shop-0 AFTER'])
  })

  it('is nothing to tell an agent that does not say which one it was told', () => {
    expect(consistencies({ spec: { group: { consistency: 'AFTER' } } })).toEqual([])
  })
})

describe('A group that another hand formed', () => {
  const hand: GroupShape = { viewId: '17329999999999999:1', members: { 'shop-1': 'ONLINE' }, primary: 'shop-1' }
  const without1: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-2': 'ONLINE' } }
  const half: GroupShape = { members: { 'shop-0': 'UNREACHABLE', 'shop-2': 'ONLINE' } }
  const forked = { 'shop-0': without1, 'shop-1': hand, 'shop-2': without1 }

  it('is left by its member, while the others go on', () => {
    const decision = after({ sees: forked })
    expect(tasksIn(decision)).toEqual(['shop-1 stayOut'])
    expect(decision.sentence).toBe(
      'no action: shop-0 is primary of the group, 2 of 3 members online: shop-1 is missing; shop-1 leaves a group formed by hand',
    )
  })

  it('is not followed where the primary dies beside it: whoever may hold more is waited for', () => {
    const decision = after({ sees: { 'shop-1': hand, 'shop-2': half }, views: { 'shop-0': silent } })
    expect(decision.sentence).toContain('The last writes may be on shop-0 alone')
    expect(tasksIn(decision)).toEqual(['shop-1 stayOut'])
  })

  it('and once the primary answers, whoever holds all that was acknowledged leads, the primary where it holds most', () => {
    const decision = after({
      sees: { 'shop-0': outsideGroup(), 'shop-1': hand, 'shop-2': half },
      views: { 'shop-0': { process: 'dead' } },
    })
    expect(ordersOf(decision)).toEqual(['promise shop-0 2@5', 'promise shop-1 2@5', 'promise shop-2 2@5'])
  })

  it('is doubted by its member before anybody is asked to promise: by names alone it could hold all that was acknowledged', () => {
    const given = (forked?: true): GroupSituation => ({
      sees: { 'shop-0': outsideGroup(), 'shop-1': { ...hand, proposed: 1 }, 'shop-2': half },
      views: { 'shop-0': { process: 'dead' }, 'shop-1': { stored: forked ? { opened: true, forked } : {} } },
    })
    expect(ordersOf(after(given()))).not.toContain('promise shop-1 2@5')
    expect(tasksIn(after(given()))).toContain('shop-1 stayOut')
    expect(after(given()).actions).toContainEqual(
      expect.objectContaining({
        order: expect.objectContaining({ group: expect.objectContaining({ fork: true }) as unknown }) as unknown,
      }),
    )
    expect(ordersOf(after(given(true)))).toEqual(['promise shop-0 2@5', 'promise shop-1 2@5', 'promise shop-2 2@5'])
  })

  it('and has the primary and most others is ended by a person alone, who names whose writes count', () => {
    const large: GroupShape = { ...hand, members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' } }
    const sees = { 'shop-0': large, 'shop-1': large, 'shop-2': outsideGroup() }
    expect(after({ sees })).toMatchObject({ blocked: true, actions: [] })
    const asked = (acceptLoss: boolean, to: string | null) =>
      ordersOf(after({ sees, requests: [{ kind: 'failover', id: 'asked', to, acceptLoss }] }))
    expect(asked(false, 'shop-0')).toEqual([])
    expect(asked(true, null)).toEqual([])
    const request = { kind: 'failover', id: 'asked', to: 'shop-0', acceptLoss: true } as const
    const noted = committed(after({ sees, requests: [request] }))
    expect(noted).toMatchObject({ epoch: 1, group: { parted: true } })
    expect(ordersOf(after({ sees, requests: [request], record: { group: noted.group! } }))).toEqual([
      'promise shop-0 2@5',
      'promise shop-1 2@5',
      'promise shop-2 2@5',
    ])
  })

  it('is the group from then on, once every member is online in it', () => {
    const whole: GroupShape = { viewId: hand.viewId! }
    const decision = after({ sees: { 'shop-0': whole, 'shop-1': whole, 'shop-2': whole } })
    expect(committed(decision)).toMatchObject({ epoch: 1, group: { view: hand.viewId } })
    expect(decision.sentence).toBe(`the record goes by the group as it is since view ${hand.viewId}`)
  })
})

describe('When the group was formed', () => {
  const record = { group: { name: groupName, forming: false } }

  it('a record of before that was noted learns while most members are online', () => {
    const two: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' } }
    const sees = { 'shop-0': two, 'shop-1': two, 'shop-2': outsideGroup() }
    expect(committed(after({ record })).group).toEqual({ ...record.group, view: viewId(5) })
    expect(committed(after({ record, sees })).group).toEqual({ ...record.group, view: viewId(5) })
  })

  it('and not from fewer: they may be in a group that another hand formed', () => {
    const one: GroupShape = { members: { 'shop-0': 'ONLINE' } }
    const decision = after({ record, sees: { ...nobodyIn, 'shop-0': one } })
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
  })
})

describe('A group of which no member is online', () => {
  const recovers: GroupShape = { members: { 'shop-2': 'RECOVERING' }, primary: null }

  it('is formed anew: one that recovers alone is no majority, whatever its view says', () => {
    const decision = after({ sees: { ...nobodyIn, 'shop-2': recovers } })
    expect(ordersOf(decision)).toEqual(['promise shop-0 2@5', 'promise shop-1 2@5', 'promise shop-2 2@5'])
    expect(decision.sentence).toContain('no majority: shop-2 recovers, and nobody is online whom to recover from')
  })

  it('by a person, where somebody does not answer', () => {
    const given: GroupSituation = { sees: { ...nobodyIn, 'shop-2': recovers }, views: { 'shop-0': silent } }
    expect(after(given).sentence).toContain('The last writes may be on shop-0 alone')
    const requests = [{ kind: 'failover', id: 'asked', to: 'shop-1', acceptLoss: true }] as const
    expect(ordersOf(after({ ...given, requests, nowMs: 10_000 }))).toEqual(['promise shop-1 2@5', 'promise shop-2 2@5'])
  })
})

it('A person may have a group formed anew that has a majority and no primary', () => {
  const sees = { 'shop-0': { primary: null }, 'shop-1': { primary: null }, 'shop-2': { primary: null } }
  const requests = [{ kind: 'failover', id: 'asked', to: null, acceptLoss: false }] as const
  expect(ordersOf(after({ sees }))).toEqual([])
  expect(ordersOf(after({ sees, requests }))).toEqual([
    'promise shop-0 2@5',
    'promise shop-1 2@5',
    'promise shop-2 2@5',
  ])
})

describe('The record follows the group', () => {
  it('to the primary that the group elected, in the next epoch', () => {
    const decision = after(failedOver)
    expect(committed(decision)).toMatchObject({
      epoch: 2,
      revision: revision + 1,
      primary: shop1,
      syncSet: [shop0, shop2],
      leaving: [],
      group: { ...groupRecord(false).group, view: viewId(6) },
    })
    expect(decision).toMatchObject({
      sentence: 'the group made shop-1 primary in place of shop-0',
      flow: 'failover',
    })
  })

  it('also while it is paused: the group does not pause', () => {
    expect(committed(after({ ...failedOver, notes: { paused: { reason: 'maintenance', wallMs: 0 } } })).primary).toBe(
      shop1,
    )
  })

  it('and a primary that was to leave does not any more', () => {
    expect(committed(after({ ...failedOver, record: { leaving: [shop1, shop2] } })).leaving).toEqual([shop2])
  })

  it('and a switchover that was under way is over', () => {
    const decision = after({ ...failedOver, record: { intent: switchoverIntent() } })
    expect(committed(decision).intent).toBeNull()
    expect(decision.flow).toBe('switchover')
  })

  describe('not back to one that was removed, and has not heard of that', () => {
    const record = { epoch: 2, primary: shop1, syncSet: [shop0, shop2] }
    const byView = (number: number) => ({ ...record, group: { ...groupRecord(false).group!, view: viewId(number) } })
    const alone = { 'shop-1': silent, 'shop-2': silent }
    const never = { 'shop-1': { ...silent, observation: null }, 'shop-2': { ...silent, observation: null } }

    it.each<[string, GroupSituation]>([
      ['by the record', { record: byView(6), views: alone }],
      ['by the last word of who is silent now', { record, views: alone, sees: { 'shop-2': without0 } }],
    ])('%s', (_, given) => {
      const decision = after(given)
      expect(decision).toMatchObject({ blocked: true, revisitMs: 500 })
      expect(decision.actions.filter(({ kind }) => kind !== 'route')).toEqual([])
      expect(decision.sentence).toBe(
        'shop-0 is primary of the group, 3 of 3 members online, by a view that is older than the newest known: it was removed meanwhile, and has not heard of that',
      )
    })

    it.each<[string, GroupSituation]>([
      ['but where nothing is known of a newer view', { record, views: never }],
      ['but within the same view: a switchover changes none', { record: byView(5), views: alone }],
      ['but in a group that was formed since', { record: byView(6), views: alone, sees: { 'shop-0': formedSince } }],
    ])('%s', (_, given) => {
      expect(committed(after(given))).toMatchObject({ epoch: 3, primary: shop0 })
    })
  })

  it('not to one that the record does not name and whose agent has never been heard', () => {
    const views = { ...failedOver.views, 'shop-1': { unheard: true } } as const
    const decision = after({ ...failedOver, views, record: { syncSet: [shop2] } })
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
    expect(decision.sentence).toContain('its agent has said nothing yet')
  })

  it('not on the word of a member that hears no majority', () => {
    const lost: GroupShape = {
      members: { 'shop-0': 'UNREACHABLE', 'shop-1': 'ONLINE', 'shop-2': 'UNREACHABLE' },
      primary: 'shop-1',
    }
    const decision = after({
      sees: { 'shop-1': lost },
      views: { 'shop-0': silent, 'shop-2': silent },
    })
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
  })

  it('and waits where the group has no primary now', () => {
    const electing: GroupShape = {
      members: { 'shop-0': 'UNREACHABLE', 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' },
    }
    expect(after({ sees: { 'shop-1': electing, 'shop-2': electing }, views: { 'shop-0': silent } })).toMatchObject({
      sentence: 'the group has no primary now, 2 of 3 members online: shop-0 is unreachable',
      actions: [],
      blocked: true,
      revisitMs: 100,
    })
  })
})

describe('While it is paused', () => {
  const paused = { notes: { paused: { reason: 'maintenance', wallMs: 0 } } } as const

  it('nobody is admitted, and the reason is said', () => {
    const decision = after({ ...paused, record: { syncSet: [shop1] } })
    expect(decision.sentence).toBe(
      'paused: maintenance; no action: shop-0 is primary of the group, 2 of 2 members online',
    )
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
  })

  it('a person may still switch over', () => {
    const request = { kind: 'switchover', id: 'asked', to: 'shop-2', deadlineWallMs: 1_010_000, reason: 'asked for' }
    expect(committed(after({ ...paused, requests: [request as never] })).intent).toMatchObject({ candidate: shop2 })
  })
})

describe('Nothing is ordered', () => {
  it('by a manager that reaches nobody', () => {
    expect(after({ views: { 'shop-0': silent, 'shop-1': silent, 'shop-2': silent } })).toMatchObject({
      sentence: 'no action: this manager reaches no instance at all and suspects itself',
      actions: [],
    })
  })

  it('by a record that is older than what an agent did', () => {
    expect(after({ ...failedOver, views: { 'shop-1': { stored: { promise: 7 } } } })).toMatchObject({
      sentence: expect.stringContaining('record from the past: shop-1 stored promise 7') as string,
      actions: [],
    })
  })
})

describe('What is wrong is named', () => {
  const found = (given: GroupSituation) =>
    analyse(aGroupSituation(given)).map(({ code, instance, severity }) =>
      `${severity} ${code} ${instance ?? ''}`.trim(),
    )
  const two: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' } }
  const missing: GroupSituation = { sees: { 'shop-0': two, 'shop-1': two, 'shop-2': outsideGroup() } }

  it('nothing, of a group that is well', () => {
    expect(found({})).toEqual([])
  })

  it('a member that is missing', () => {
    expect(found(missing)).toEqual(['warning GroupMemberMissing shop-2'])
  })

  it('not to be called for, a member that is expected to be missing', () => {
    const downtimes = [{ instance: 'shop-2', untilWallMs: 2_000_000, reason: 'disk', owner: '' }]
    expect(found({ ...missing, notes: { downtimes } })).toEqual(['info GroupMemberMissing shop-2'])
  })

  it('a group that takes no writes', () => {
    expect(found({ sees: nobodyIn })).toEqual(['critical GroupOutage'])
    expect(found({ sees: nobodyIn, views: { 'shop-2': silent } })).toEqual([
      'critical GroupUncertain',
      'warning InstanceUnreachable shop-2',
    ])
  })

  it('two groups', () => {
    const alone: GroupShape = { members: { 'shop-0': 'ONLINE' } }
    expect(found({ sees: { 'shop-0': alone, 'shop-1': without0, 'shop-2': without0 } })).toEqual([
      'critical GroupSplitBrain',
    ])
  })

  it('a pause, beside the rest', () => {
    expect(found({ ...missing, notes: { paused: { reason: 'maintenance', wallMs: 0 } } })).toEqual([
      'warning GroupMemberMissing shop-2',
      'warning Paused',
    ])
  })
})

it('A failover to an instance that there is not is refused', () => {
  const mode = modeOf({ mode: 'group' })
  expect(String(mode.whyNeverTo(aGroupSituation(), 'shop-7', true))).toBe('there is no instance shop-7')
  expect(mode.whyNeverTo(aGroupSituation(), 'shop-1', true)).toBeNull()
})

it('A member that promised a newer epoch is told nothing of this one', () => {
  expect(ordersOf(after({ views: { 'shop-1': { stored: { promise: 2, assignment: null } } } }))).toEqual([])
  expect(tasksIn(after({ views: { 'shop-1': { stored: { assignment: null } } } }))).toEqual(['shop-1 join'])
})
