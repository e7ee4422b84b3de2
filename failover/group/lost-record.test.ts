import { describe, expect, it } from 'vitest'
import type { StoredSummary } from '#topology/snapshot/observation.ts'
import { memberOf, type ViewOverrides } from '#topology/testing.ts'
import { allOnline, groupName, outsideGroup, viewId, type GroupShape } from '#topology/testing-group.ts'
import { decide, modeOf } from '../decide.ts'
import type { Situation } from '../judge/situation.ts'
import { committed, shop0, shop1, shop2 } from '../testing.ts'
import { wayOut } from '../way-out/way-out.ts'
import { aGroupSituation, askedFor, nobodyIn, storedAs, tasksIn, type GroupSituation } from './testing-group.ts'

const silent: ViewOverrides = { reachable: false }
const fresh: ViewOverrides = { stored: { promise: 0, revision: 0, assignment: null } }
const under = (primary: string): Readonly<Record<string, GroupShape>> =>
  Object.fromEntries(['shop-0', 'shop-1', 'shop-2'].map((name) => [name, { primary }]))

/** The cluster whose agents acted on a record in epoch 1, and the record is gone. */
function lost(given: GroupSituation = {}) {
  return { ...aGroupSituation({ nowMs: 60_000, ...given }), record: undefined, published: undefined }
}

/** The same, once that is committed which is decided. */
function goneOn(given: GroupSituation, more: Partial<Situation> = {}) {
  return decide({ ...lost(given), ...more, record: committed(decide(lost(given))) })
}

describe('A lost record of a group that goes on', () => {
  it('is rebuilt from the group, above all that any agent stored', () => {
    const decision = decide(lost())
    expect(committed(decision)).toEqual({
      version: 1,
      cluster: 'shop',
      epoch: 1_000,
      revision: 1_000_000,
      primary: shop0,
      syncSet: [shop1, shop2],
      leaving: [],
      acks: 0,
      acksWanted: 0,
      intent: null,
      group: { name: groupName, forming: false, view: viewId(5) },
    })
    expect(decision).toMatchObject({
      sentence: 'the record was lost and is rebuilt from what all instances show: shop-0 is primary of the group',
      flow: 'bootstrap',
    })
  })

  it('has everybody told at once, and nobody asked to promise', () => {
    const decision = goneOn({})
    expect(tasksIn(decision)).toEqual(['shop-0 join', 'shop-1 join', 'shop-2 join'])
    expect(decision.actions.every(({ kind }) => kind === 'assign' || kind === 'route')).toBe(true)
  })

  it('names the primary that the group has elected since', () => {
    expect(committed(decide(lost({ sees: under('shop-1') })))).toMatchObject({
      primary: shop1,
      syncSet: [shop0, shop2],
    })
  })

  it('names no member that is not in the group: such an instance is admitted as any other', () => {
    const members = { 'shop-0': 'ONLINE', 'shop-1': 'RECOVERING' } as const
    const sees = { 'shop-0': { members }, 'shop-1': { members }, 'shop-2': outsideGroup() }
    expect(committed(decide(lost({ sees }))).syncSet).toEqual([shop1])
  })

  it('begins above an epoch that was promised, and above a record that was rebuilt before', () => {
    const stored = { stored: { promise: 1_001, revision: 1_000_007 } }
    expect(committed(decide(lost({ views: { 'shop-2': stored } })))).toMatchObject({
      epoch: 2_000,
      revision: 2_000_000,
    })
  })
})

describe('A lost record of a group that is gone', () => {
  const outage = { sees: nobodyIn } as const

  it('names the primary before and every member, and the group is formed anew by the rules of any outage', () => {
    const decision = decide(lost(outage))
    expect(committed(decision)).toMatchObject({ epoch: 1_000, primary: shop0, syncSet: [shop1, shop2] })
    expect(committed(decision).group).toEqual({ name: groupName, forming: false })
    expect(decision).toMatchObject({
      sentence: 'the record was lost and is rebuilt from what all instances show: shop-0 was the primary',
      flow: 'failover',
    })
    const next = goneOn(outage)
    const asked = next.actions.flatMap((action) => (action.kind === 'promise' ? [action.to] : []))
    expect(asked).toEqual(['shop-0', 'shop-1', 'shop-2'])
    expect(next.sentence).toContain('epoch 1001')
  })

  it('is the same while no server is up', () => {
    const views = Object.fromEntries(['shop-0', 'shop-1', 'shop-2'].map((name) => [name, { server: null }]))
    const { group, ...named } = committed(decide(lost({ views })))
    expect(named).toMatchObject({ primary: shop0, syncSet: [shop1, shop2] })
    expect(group?.forming).toBe(false)
    expect(group?.name).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('names nobody who holds nothing of it', () => {
    const views = { 'shop-1': fresh, 'shop-2': { stored: { seeding: true } } }
    expect(committed(decide(lost({ ...outage, views }))).syncSet).toEqual([])
  })

  it('is left to a person where the primary lives on another volume', () => {
    const decision = decide(lost({ ...outage, views: { 'shop-0': fresh } }))
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toContain('shop-0 was the primary and lives on another volume now')
  })

  it.each<[string, Partial<NonNullable<StoredSummary['assignment']>> | null, string]>([
    [
      'led is no instance now',
      { source: 'shop-3' },
      'the record is lost: shop-3 led, and is no instance now: choose who',
    ],
    ['is stored nowhere', null, 'the record is lost: no instance knows who led: choose who leads'],
  ])('is left to a person where the primary before %s', (_, told, says) => {
    const assignment = told && { ...storedAs('shop-1').assignment!, ...told }
    const views = Object.fromEntries(['shop-0', 'shop-1', 'shop-2'].map((name) => [name, { stored: { assignment } }]))
    const decision = decide(lost({ ...outage, views }))
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toContain(says)
  })

  it('is left to a person where a volume went back in time', () => {
    const views = { 'shop-1': { past: shop1, member: memberOf('shop-1') } }
    const decision = decide(lost({ ...outage, views }))
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toContain('the volume of shop-1 went back in time, and no record says what it missed')
  })
})

describe('Nothing is rebuilt', () => {
  it.each<[string, GroupSituation, string]>([
    [
      'before every agent has answered',
      { views: { 'shop-2': silent } },
      'waiting for the agents of shop-2 before anything is believed: the record is lost',
    ],
    [
      'while the group has no primary',
      { sees: { 'shop-0': { primary: null }, 'shop-1': { primary: null }, 'shop-2': { primary: null } } },
      'the record is lost: the group has no primary now',
    ],
    [
      'while two groups go on',
      { sees: twoGroups() },
      'the record is lost: two groups: shop-0, and shop-1 and shop-2. Nothing is done; a person decides',
    ],
  ])('%s', (_, given, says) => {
    const decision = decide(lost(given))
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toContain(says)
  })
})

/** shop-0 was alone in a group of the same name that another hand formed. */
function twoGroups(): Readonly<Record<string, GroupShape>> {
  const two = { members: { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' }, primary: 'shop-1' } as const
  return { 'shop-0': { members: { 'shop-0': 'ONLINE' }, viewId: '17321234567899999:1' }, 'shop-1': two, 'shop-2': two }
}

describe('A person who accepts loss', () => {
  const planned = (to: string, given: GroupSituation) => modeOf({ mode: 'group' }).planForcedBootstrap(lost(given), to)

  it('goes on without an agent that is silent, with the primary that the group has', () => {
    const views = { 'shop-2': silent }
    expect(planned('shop-1', { views })).toMatchObject({
      refusal: 'shop-0 is primary of a group that goes on. Name that one: regent failover --accept-loss --to shop-0',
    })
    expect(String((planned('shop-0', { views }) as { givenUp: unknown }).givenUp)).toContain('what shop-2 alone holds')
    const decision = decide(lost({ views, ...askedFor('shop-0') }))
    expect(committed(decision)).toMatchObject({ primary: shop0, epoch: 1_000, revision: 1_000_000_000 })
    expect(wayOut(lost({ views, nowMs: 600_000 }))?.command).toEqual({
      verb: 'failover',
      to: 'shop-0',
      acceptLoss: true,
    })
  })

  it('has the group that is gone formed anew by an instance of the choice, once all who answer have promised', () => {
    const given = { sees: nobodyIn, views: { 'shop-0': { ...silent, observation: null } }, ...askedFor('shop-1') }
    const decision = decide(lost(given))
    expect(committed(decision)).toMatchObject({ primary: shop1 })
    expect(decision).toMatchObject({ flow: 'failover' })
    expect(decision.actions).not.toContainEqual(expect.objectContaining({ isAnswer: true }))
    expect(goneOn(given).sentence).toContain('promise epoch 1001')
  })

  it('says whose rows count of two groups, and the record knows first that there were two', () => {
    const given = { sees: twoGroups(), ...askedFor('shop-0') }
    expect(committed(decide(lost(given)))).toMatchObject({ primary: shop0, group: { name: groupName } })
    expect(committed(goneOn(given)).group).toMatchObject({ parted: true })
  })
})

describe('The primary that the group elected', () => {
  it('is followed by a manager that never heard its agent: the record knows that member', () => {
    const views = { 'shop-0': silent, 'shop-1': { unheard: true } } as const
    const members = { ...allOnline, 'shop-0': 'UNREACHABLE' } as const
    const sees = { 'shop-2': { members, primary: 'shop-1' } }
    const record = { syncSet: [shop1, shop2] }
    expect(committed(decide(aGroupSituation({ views, sees, record })))).toMatchObject({ epoch: 2, primary: shop1 })
  })
})
