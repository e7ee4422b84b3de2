import { describe, expect, it } from 'vitest'
import { gtids, memberOf, type ViewOverrides } from '#topology/testing.ts'
import { aGroupState, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import { decide } from '../decide.ts'
import { committed, memberElsewhere, namesOf, shop0, shop1, shop2 } from '../testing.ts'
import { aGroupSituation, revision, storedAs, tasksIn, type GroupSituation } from './testing-group.ts'

const after = (given: GroupSituation = {}) => decide(aGroupSituation(given))
const commits = (given: GroupSituation) => after(given).actions.filter(({ kind }) => kind === 'commit')
const three: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-2': 'ONLINE' } }
const two: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' } }

const givenUp = '0f0f0f0f-0b0b-8c0c-8d0d-0e0e0e0e0e0e'

/** The record names shop-0 and shop-1; shop-2 is there, in no group. */
function beside(view: ViewOverrides = {}, more: GroupSituation = {}): GroupSituation {
  return {
    ...more,
    record: { syncSet: [shop1], ...more.record },
    sees: { 'shop-0': two, 'shop-1': two, 'shop-2': outsideGroup() },
    views: { ...more.views, 'shop-2': view },
  }
}

describe('Who is not in the group', () => {
  it('though the record names it, stays out while its version is too low, and joins once that is not so', () => {
    const named: GroupSituation = { record: { syncSet: [shop1, shop2] } }
    const lower = { server: { version: '8.4.6' }, stored: storedAs('shop-2', { assignment: null }) }
    expect(tasksIn(after({ ...beside(lower), ...named }))).toEqual(['shop-2 stayOut'])
    const asTheOthers = { ...lower, server: { version: '9.7.1' } }
    expect(tasksIn(after({ ...beside(asTheOthers), ...named }))).toEqual(['shop-2 join'])
  })

  it('is no stranger by its version alone: a member of a lower one stays', () => {
    const views = { 'shop-2': { server: { version: '8.4.6' } } }
    expect(tasksIn(after({ views }))).toEqual([])
    expect(after({ views }).sentence).toContain('no action')
  })

  it('is admitted in the record first, and told to join by that revision only', () => {
    const decision = after(beside())
    expect(committed(decision)).toMatchObject({ epoch: 1, revision: revision + 1, syncSet: [shop1, shop2] })
    expect(decision.sentence).toBe('shop-2 is admitted to the group')
    expect(tasksIn(decision)).toEqual([])
    const stays = tasksIn(after(beside({ stored: { assignment: null } }, { notes: fenced('shop-2') })))
    expect(stays).toEqual(['shop-2 stayOut'])
  })

  it('is told to join once the record names it', () => {
    const view = { stored: storedAs('shop-2', { assignment: null }) }
    expect(tasksIn(after({ ...beside(view), record: { syncSet: [shop1, shop2] } }))).toEqual(['shop-2 join'])
  })

  it('waits until the primary knows what was decided before', () => {
    expect(commits(beside({}, { views: { 'shop-0': { stored: { revision: revision - 1 } } } }))).toEqual([])
  })

  it.each<[string, ViewOverrides, GroupSituation?]>([
    ['holds what the primary has not', { server: { executed: `${gtids('shop-0', 100)},${gtids('shop-2', 1)}` } }],
    ['is of the past', { stored: { fromThePast: true } }],
    ['had a replication filter', { stored: { filterSeen: true } }],
    ['was open for writes', { stored: { opened: true } }],
    ['is being seeded', { stored: { seeding: true } }],
    ['does not answer', { reachable: false }],
    ['has a server that does not answer', { silentMs: 60_000 }],
    ['has no server that runs', { process: 'dead', server: null }],
    ['is fenced', {}, { notes: fenced('shop-2') }],
    ['is to end', { terminating: true }],
    ['is one too many', {}, { notes: { instances: 2 } }],
    ['runs a lower version than each member', { server: { version: '8.4.6' } }],
    ['is in a group that was given up', { server: { group: aGroupState('shop-2', { name: givenUp }) } }],
    ['has an order that is not answered', {}, { inFlight: new Map([['shop-2', { order: 'assign', sinceMs: 1 }]]) }],
  ])('is not admitted where it %s', (_, view, more) => {
    expect(commits(beside(view, more))).toEqual([])
  })
})

function fenced(instance: string) {
  return { fenced: [{ instance, keepPrimary: false, wallMs: 0 }] }
}

describe('Who is to go', () => {
  it('is told to leave first: the record still names it', () => {
    const decision = after({ notes: { instances: 2 } })
    expect(committed(decision)).toMatchObject({ syncSet: [shop1, shop2], leaving: [shop2], revision: revision + 1 })
    expect(decision.sentence).toBe('shop-2 is to go and leaves the group')
  })

  it('so is one whose pod ends', () => {
    expect(committed(after({ views: { 'shop-1': { terminating: true } } })).leaving).toEqual([shop1])
  })

  it('stays out by that revision', () => {
    const stale = { stored: storedAs('shop-2', { assignment: null }) }
    const decision = after({ notes: { instances: 2 }, record: { leaving: [shop2] }, views: { 'shop-2': stale } })
    expect(tasksIn(decision)).toEqual(['shop-2 stayOut'])
    expect(decision.actions.filter(({ kind }) => kind !== 'assign')).toEqual([])
  })

  const left: GroupSituation = {
    notes: { instances: 2 },
    record: { leaving: [shop2] },
    sees: { 'shop-0': two, 'shop-1': two, 'shop-2': outsideGroup() },
    views: { 'shop-2': { stored: staysOut('shop-2') } },
  }

  it('is not dropped before its agent has stored that it is to stay out', () => {
    expect(commits({ ...left, views: {} })).toEqual([])
  })

  it('is not dropped while an order of before may be on its way: it is told again by this revision', () => {
    const before = { ...staysOut('shop-2').assignment!, revision: revision - 1 }
    const views = { 'shop-2': { stored: storedAs('shop-2', { assignment: before }) } }
    expect(commits({ ...left, views })).toEqual([])
    expect(tasksIn(after({ ...left, views }))).toEqual(['shop-2 stayOut'])
  })

  it('is not dropped while it joins by what it was told before', () => {
    const joins = { stored: staysOut('shop-2'), joinsGroup: true } as const
    expect(commits({ ...left, views: { 'shop-2': joins } })).toEqual([])
    const sees = { ...left.sees, 'shop-2': { members: { 'shop-2': 'RECOVERING' as const } } }
    expect(commits({ ...left, sees })).toEqual([])
  })

  it('is not dropped while it is silent, unless it is taken away', () => {
    const views = { 'shop-2': { reachable: false } }
    expect(namesOf(committed(after({ ...left, views })).leaving)).toBe('')
    expect(commits({ ...left, notes: {}, views })).toEqual([])
  })

  it('is dropped once it is in no view', () => {
    const next = committed(after(left))
    expect([namesOf(next.syncSet), namesOf(next.leaving)]).toEqual(['shop-1', ''])
  })

  it('is not dropped while it is in the view', () => {
    expect(commits({ ...left, sees: {} })).toEqual([])
  })

  it('is not dropped while the primary has not applied what the group received', () => {
    expect(commits({ ...left, sees: { ...left.sees, 'shop-0': { ...two, applying: 3 } } })).toEqual([])
    expect(commits({ ...left, views: { 'shop-0': { server: { received: gtids('shop-1', 5) } } } })).toEqual([])
  })

  it('is not dropped while the primary says nothing', () => {
    expect(commits({ ...left, views: { 'shop-0': { server: null } } })).toEqual([])
  })

  it('is taken away only once it is dropped', () => {
    const scales = (given: GroupSituation) => after(given).actions.filter(({ kind }) => kind === 'scale')
    expect(scales(left)).toEqual([])
    expect(scales({ ...left, sees: {} })).toEqual([])
    expect(scales({ ...left, record: { syncSet: [shop1] } })).toEqual([{ kind: 'scale', count: 2 }])
  })

  it('as primary hands over first', () => {
    const views = { 'shop-0': { terminating: true } } as const
    expect(committed(after({ views }))).toMatchObject({
      primary: shop0,
      intent: { kind: 'switchover', candidate: shop1, reason: 'shop-0 is told to end' },
    })
  })

  it('as primary beyond the number wanted hands over first, to one that stays', () => {
    const views: GroupSituation['views'] = {
      'shop-0': { stored: { assignment: { ...told('replica'), source: 'shop-2', counted: true } } },
      'shop-2': { stored: { assignment: { ...told('primary'), source: null, counted: false } } },
    }
    const led2: GroupShape = { primary: 'shop-2' }
    const given: GroupSituation = {
      notes: { instances: 2 },
      record: { primary: shop2, syncSet: [shop0, shop1] },
      sees: { 'shop-0': led2, 'shop-1': led2, 'shop-2': led2 },
      views,
      published: { epoch: 1, instance: 'shop-2', host: '127.24.1.3', port: 3306 },
    }
    expect(committed(after(given)).intent).toMatchObject({ candidate: shop0, reason: 'scale-in to 2: shop-2 is to go' })
    const two = committed(after({ ...given, notes: { instances: 1 } }))
    expect(two).toMatchObject({ intent: { candidate: shop0 }, leaving: [] })
  })
})

describe('A member that was open for writes while it was no primary', () => {
  const opened: ViewOverrides = { stored: { opened: true } }

  it('leaves the group, to be seeded', () => {
    const decision = after({ views: { 'shop-1': opened } })
    expect(committed(decision)).toMatchObject({ syncSet: [shop1, shop2], leaving: [shop1] })
    expect(decision.sentence).toBe(
      'shop-1 was open for writes while it was no primary, so that nobody can tell whether its data are those of the primary: it leaves the group, to be seeded',
    )
  })

  it.each<[string, GroupSituation]>([
    ['another one is on its way out', { record: { leaving: [shop2] } }],
    ['another one is missing', { sees: { 'shop-0': two, 'shop-1': two, 'shop-2': outsideGroup() } }],
    ['a person decides about copies', { spec: { reseed: 'manual' } }],
  ])('stays while %s', (_, given) => {
    expect(commits({ ...given, views: { 'shop-1': opened } })).toEqual([])
  })

  it('is a copy of nobody who was open as well', () => {
    const record = { syncSet: [shop2] }
    const sees = { 'shop-0': three, 'shop-2': three, 'shop-1': outsideGroup() }
    const views = { 'shop-1': { stored: { opened: true, ...staysOut('shop-1') } }, 'shop-2': opened }
    const [seeding] = after({ record, sees, views }).actions.filter(({ kind }) => kind === 'reseed')
    expect(seeding).toMatchObject({ to: 'shop-1', order: { donor: { instance: 'shop-0' } } })
  })
})

function staysOut(name: string) {
  return storedAs(name, { assignment: { ...storedAs(name).assignment!, groupDoes: 'stayOut', counted: false } })
}

function told(role: 'primary' | 'replica') {
  return { ...storedAs('shop-1').assignment!, role }
}

describe('An instance on another volume', () => {
  it('is somebody else: the member that was goes, the new one is admitted after that', () => {
    const gone = [shop1, memberElsewhere]
    const leaves = after({ record: { syncSet: gone } })
    expect(committed(leaves)).toMatchObject({ syncSet: gone, leaving: [memberElsewhere] })
    expect(leaves.sentence).toBe('shop-2 lives on another volume, or is gone, and leaves the group')
    expect(committed(after({ ...beside(), record: { syncSet: gone, leaving: [memberElsewhere] } }))).toMatchObject({
      syncSet: [shop1],
      leaving: [],
    })
    expect(committed(after(beside())).syncSet).toEqual([shop1, shop2])
  })

  it.each<[string, GroupSituation]>([
    ['lives on another volume', { record: { syncSet: [shop1, memberElsewhere], leaving: [memberElsewhere] } }],
    ['is gone', { record: { syncSet: [shop1, memberOf('shop-7')], leaving: [memberOf('shop-7')] } }],
  ])(
    'that %s stays in the record while the group has a member that is no instance: that may be its server',
    (_, given) => {
      const withStranger: GroupShape = { members: { ...two.members, 'shop-9': 'ONLINE' } }
      const sees = { 'shop-0': withStranger, 'shop-1': withStranger, 'shop-2': outsideGroup() }
      expect(
        commits({ ...beside(), ...given, sees }).map((action) => action.kind === 'commit' && action.next.leaving),
      ).not.toContainEqual([])
      expect(committed(after({ ...beside(), ...given })).leaving).toEqual([])
    },
  )
})
