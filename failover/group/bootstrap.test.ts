import { saying } from '#test/support/said-as-text.ts'
import { describe, expect, it } from 'vitest'
import { gtids, memberOf, type ViewOverrides } from '#topology/testing.ts'
import { viewId, type GroupShape } from '#topology/testing-group.ts'
import { decide, modeOf } from '../decide.ts'
import { committed, shop0, shop1, shop2 } from '../testing.ts'
import { groupNameFor } from './assignments.ts'
import { aGroupSituation, groupRecord, nobodyIn, storedAs, tasksIn, type GroupSituation } from './testing-group.ts'

/** Nothing was ever stored or written. */
const fresh = (more: ViewOverrides = {}): ViewOverrides => ({
  ...more,
  server: more.server === null ? null : { executed: '', received: '', ...more.server },
  stored: { promise: 0, revision: 0, assignment: null, ...more.stored },
})
const holding = (executed: string): ViewOverrides => fresh({ server: { executed } })
const all = { 'shop-0': fresh(), 'shop-1': fresh(), 'shop-2': fresh() }

/** The same, before there is a record. */
function begin(given: GroupSituation = {}) {
  const situation = aGroupSituation({ sees: nobodyIn, ...given, views: { ...all, ...given.views } })
  return decide({ ...situation, record: undefined, published: undefined })
}

describe('A new cluster', () => {
  it('has ordinal 0 form the group, alone: nobody else is named', () => {
    const decision = begin()
    expect(committed(decision)).toEqual({
      version: 1,
      cluster: 'shop',
      epoch: 1,
      revision: 1,
      primary: shop0,
      syncSet: [],
      leaving: [],
      acks: 0,
      acksWanted: 0,
      intent: null,
      group: { name: groupNameFor('shop', shop0), forming: true },
    })
    expect(decision).toMatchObject({ sentence: 'bootstrap: shop-0 forms the group', flow: 'bootstrap' })
  })

  it('is led by the one that holds what all others hold', () => {
    const views = { 'shop-0': holding(gtids('shop-0', 3)), 'shop-2': holding(gtids('shop-0', 7)) }
    const decision = begin({ views })
    expect(committed(decision).primary).toBe(shop2)
    expect(decision.sentence).toBe('bootstrap: shop-2 forms the group, it holds all 7 transactions')
  })

  it('is led by the lowest version of those: no lower one could join', () => {
    const lower = (version: string) => fresh({ server: { version } })
    const views = { 'shop-0': lower('9.7.4'), 'shop-1': lower('9.7.4'), 'shop-2': lower('8.4.6') }
    expect(committed(begin({ views })).primary).toBe(shop2)
  })

  const waits: Readonly<Record<string, readonly [says: string, given: GroupSituation]>> = {
    'until every agent is heard': [
      'waiting for the agents of shop-2 before anything is believed',
      { views: { 'shop-2': { unheard: true } } },
    ],
    'until those are heard again that fell silent': [
      'waiting for the agents of shop-0 before anything is believed',
      { views: { 'shop-0': fresh({ reachable: false }) } },
    ],
    'until every server answers': ['waiting for mysqld of shop-1', { views: { 'shop-1': fresh({ server: null }) } }],
    'where servers hold different data': [
      'no instance holds everything that the others hold: choose who leads (--dry-run names what is given up): regent failover --accept-loss --to <instance>',
      { views: { 'shop-0': holding(gtids('shop-0', 3)), 'shop-1': holding(gtids('shop-1', 1)) } },
    ],
    'while it is paused': [
      'no action: paused before the first primary was chosen',
      { notes: { paused: { reason: 'moving', wallMs: 0 } } },
    ],
  }
  it.each(Object.entries(waits))('waits %s', (_, [says, given]) => {
    expect(begin(given)).toMatchObject({ sentence: says, actions: [] })
  })

  it('has its instances made first', () => {
    expect(begin({ spec: { instances: 4 } })).toMatchObject({
      sentence: 'waiting for 4 instances to exist',
      actions: [{ kind: 'scale', count: 4 }],
    })
  })
})

const forced = (to: string, views: GroupSituation['views']) => {
  const situation = aGroupSituation({ sees: nobodyIn, views: { ...all, ...views } })
  return modeOf({ mode: 'group' }).planForcedBootstrap({ ...situation, record: undefined }, to)
}

describe('A new cluster whose servers hold different data', () => {
  const views = { 'shop-0': holding(gtids('shop-0', 3)), 'shop-1': holding(gtids('shop-1', 1)) }
  const byForce = (to: string) => ({ requests: [{ kind: 'failover', id: 'asked', to, acceptLoss: true }] }) as const

  it('is led by the one that a person chose, and what is given up is said beforehand', () => {
    expect(forced('shop-1', views)).toMatchObject({
      leader: { name: 'shop-1' },
      unknown: [],
      givenUp: saying('3 transactions of shop-0'),
    })
    const decision = begin({ views, ...byForce('shop-1') })
    expect(committed(decision)).toMatchObject({ epoch: 1, primary: shop1, syncSet: [], group: { forming: true } })
    expect(decision.sentence).toContain('forced: shop-1 forms the group; given up: 3 transactions of shop-0')
  })

  it.each<[string, GroupSituation['views'], string]>([
    ['an agent is silent', { 'shop-2': fresh({ reachable: false }) }, 'shop-2 must answer first'],
    ['a server does not answer', { 'shop-2': fresh({ server: null }) }, 'shop-2 must answer first'],
    ['the chosen one began to be seeded', { 'shop-1': fresh({ stored: { seeding: true } }) }, 'began to be seeded'],
  ])('is led by nobody while %s', (_, more, says) => {
    expect(forced('shop-1', { ...views, ...more })).toEqual({ refusal: saying(says) })
    expect(begin({ views: { ...views, ...more }, ...byForce('shop-1') })).toMatchObject({ actions: [], blocked: true })
  })
})

describe('The name of a group', () => {
  it('is a UUID, the same for the same member and another for any other', () => {
    const name = groupNameFor('shop', shop0)
    expect(name).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(groupNameFor('shop', shop0)).toBe(name)
    const others = [groupNameFor('shop', shop1), groupNameFor('other', shop0), groupNameFor('shop', memberOf('shop-3'))]
    expect(new Set([name, ...others]).size).toBe(4)
  })
})

describe('While the group is formed', () => {
  const forming = { record: { ...groupRecord(true), syncSet: [] }, sees: nobodyIn } as const
  const told = (formedEpoch: number): ViewOverrides => ({
    stored: { ...storedAs('shop-0'), revision: 4, formedEpoch },
    converged: { revision: 4, done: false, sentence: 'forms the group' },
  })

  it('the primary alone is told to form it, and everybody else stays out', () => {
    const others = { stored: { revision: 4 } }
    const decision = decide(
      aGroupSituation({ ...forming, views: { 'shop-0': told(0), 'shop-1': others, 'shop-2': others } }),
    )
    expect(tasksIn(decision)).toEqual(['shop-0 form', 'shop-1 stayOut', 'shop-2 stayOut'])
    expect(decision).toMatchObject({ sentence: 'shop-0 forms the group: forms the group', flow: 'bootstrap' })
  })

  it('nobody is let in on its word alone, while that it formed the group is not on its disk', () => {
    const alone = { members: { 'shop-0': 'ONLINE' } } as const
    const decision = decide(
      aGroupSituation({ ...forming, sees: { ...nobodyIn, 'shop-0': alone }, views: { 'shop-0': told(0) } }),
    )
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
    expect(tasksIn(decision)).not.toContain('shop-1 join')
  })

  it('that is over once it is on the disk of the one that formed it', () => {
    const decision = decide(aGroupSituation({ ...forming, views: { 'shop-0': told(1) } }))
    expect(committed(decision)).toMatchObject({ epoch: 1, revision: 6, primary: shop0, group: { forming: false } })
    expect(decision).toMatchObject({ sentence: 'shop-0 has formed the group; the others may join', flow: 'bootstrap' })
  })

  it('and the record knows from then on by which view it was formed', () => {
    const alone = { members: { 'shop-0': 'ONLINE' }, viewId: viewId(1) } as const
    const decision = decide(
      aGroupSituation({ ...forming, sees: { ...nobodyIn, 'shop-0': alone }, views: { 'shop-0': told(1) } }),
    )
    expect(committed(decision).group).toEqual({ ...groupRecord(false).group, view: viewId(1) })
  })

  it.each<[string, GroupShape, ViewOverrides]>([
    ['is not looked at yet', nobodyIn['shop-0'], { joinsGroup: true }],
    ['does not answer', nobodyIn['shop-0'], { joinsGroup: true, silentMs: 3_000 }],
    ['recovers', { members: { 'shop-0': 'RECOVERING' } }, {}],
  ])('nobody is asked to promise anything while the server that formed it %s', (_, seen, more) => {
    const decision = decide(
      aGroupSituation({
        ...forming,
        sees: { ...nobodyIn, 'shop-0': seen },
        views: { 'shop-0': { ...told(1), ...more } },
      }),
    )
    expect(decision).toMatchObject({
      actions: [],
      blocked: true,
      sentence: 'shop-0 has formed the group, and is looked at once more: forms the group',
    })
  })

  it('what an earlier epoch formed counts for nothing', () => {
    const decision = decide(
      aGroupSituation({ ...forming, record: { ...forming.record, epoch: 2 }, views: { 'shop-0': told(1) } }),
    )
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
  })

  it('nobody else forms it when that one falls silent: it may have done so', () => {
    const decision = decide(aGroupSituation({ ...forming, views: { 'shop-0': { reachable: false } } }))
    expect(decision).toMatchObject({ blocked: true })
    expect(decision.sentence).toContain('The last writes may be on shop-0 alone')
    expect(decision.actions.filter(({ kind }) => kind !== 'assign')).toEqual([])
    expect(tasksIn(decision).filter((task) => !task.endsWith('stayOut'))).toEqual([])
  })
})
