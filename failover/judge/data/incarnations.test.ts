import { describe, expect, it } from 'vitest'
import { anObservation, aSnapshot } from '#topology/testing.ts'
import { decide } from '#failover/decide.ts'
import { revocation } from '../election/durability.ts'
import { believed, standingOf, withIncarnation, withoutIncarnations } from './incarnations.ts'
import { renounceOrders } from '#failover/flows/renouncing.ts'
import { semisync } from '#failover/semisync/decide-semisync.ts'
import type { Situation } from '../situation.ts'
import { emptyNotes, type ClusterNotes } from '#failover/protocol/notes.ts'
import { aSituation, deadServer, ordersOf, promised, shop0, shop1, type SituationOverrides } from '#failover/testing.ts'

const noted = (...incarnations: readonly string[]): ClusterNotes => ({
  ...emptyNotes,
  incarnations: { [shop1]: incarnations },
})
const run = (incarnation: string, ...earlierIncarnations: readonly string[]) =>
  anObservation({ instance: 'shop-1', stored: { incarnation, earlierIncarnations } })

describe('an incarnation', () => {
  it.each([
    ['is known when it is the newest that was noted', noted('b', 'a'), run('b', 'a'), 'known'],
    ['is new for a member nobody noted: a new volume, or notes that were lost', emptyNotes, run('b', 'a'), 'new'],
    ['is new when the newest noted one is the one before it', noted('a'), run('b', 'a'), 'new'],
    ['is new after several starts without a manager', noted('a'), run('e', 'd', 'c', 'b', 'a'), 'new'],
    ['is late when a newer one was noted since', noted('b', 'a'), run('a'), 'late'],
    ['is of the past when the newest noted one is none of those before it', noted('b', 'a'), run('c', 'a'), 'past'],
    ['is of the past also when it began with nothing', noted('b'), run('c'), 'past'],
  ])('%s', (_, notes, observation, standing) => {
    expect(standingOf(notes, observation)).toBe(standing)
  })

  it('cannot be judged of an agent that keeps none', () => {
    const { earlierIncarnations: _none, ...stored } = run('c').stored
    expect(standingOf(noted('b'), { ...run('c'), stored })).toBe('new')
  })

  it('is noted once, before those that were there; one of the past never is', () => {
    const notes = withIncarnation(noted('a'), run('b', 'a'))
    expect(notes.incarnations).toEqual({ [shop1]: ['b', 'a'] })
    expect(withIncarnation(notes, run('b', 'a'))).toBe(notes)
    expect(withIncarnation(notes, run('c', 'a'))).toBe(notes)
  })
})

describe('what is believed', () => {
  const snapshot = aSnapshot({ 'shop-1': { stored: { incarnation: 'c', earlierIncarnations: ['a'] } } })
  const viewOf1 = (notes: ClusterNotes, runs: readonly string[] = []) =>
    believed(snapshot, notes, new Set(runs)).instances[1]

  it('is nothing of a run before it is noted, unless that run was noted and has only promised since', () => {
    expect(viewOf1(noted('a'))).toMatchObject({ reachable: false, observation: { member: shop1 } })
    expect(viewOf1(noted('a'), ['run-of-shop-1'])).toMatchObject({ reachable: true, observation: { member: shop1 } })
    expect(viewOf1(noted('c', 'a'))).toMatchObject({ reachable: true })
  })

  it('of one that went back in time is that it is nobody who is known, also when its run was believed', () => {
    expect(viewOf1(noted('b', 'a'), ['run-of-shop-1'])).toMatchObject({
      reachable: true,
      past: shop1,
      observation: { member: `${shop1}~c`, promiseReport: null },
    })
  })
})

const renounced = (situation: Situation) => renounceOrders(situation, semisync)

/** The situation with the volume of `name` gone back in time. */
function wentBack(name: 'shop-0' | 'shop-1', overrides: SituationOverrides = {}) {
  const view = overrides.views?.[name]
  const views = {
    ...overrides.views,
    [name]: { ...view, stored: { ...view?.stored, incarnation: 'c', earlierIncarnations: ['a'] } },
  }
  const situation = aSituation({ ...overrides, views })
  const notes = { ...situation.notes, incarnations: { [name === 'shop-0' ? shop0 : shop1]: ['b', 'a'] } }
  return {
    ...situation,
    notes,
    snapshot: believed(
      situation.snapshot,
      notes,
      new Set(situation.snapshot.instances.map(({ observation }) => observation?.agentRun ?? '')),
    ),
  }
}

describe('a member whose volume went back in time', () => {
  it('promises nothing that counts', () => {
    const views = { 'shop-0': deadServer, 'shop-1': promised(), 'shop-2': promised() }
    expect(revocation(aSituation({ views }), 2).revoked).toBe(true)
    expect(revocation(wentBack('shop-1', { views }), 2)).toMatchObject({
      revoked: false,
      missing: '2 members of the sync set must promise, 1 did',
    })
  })

  it('leaves the sync set, is told that it is a new member, and gets no other order', () => {
    const decision = decide(wentBack('shop-1'))
    expect(decision.sentence).toBe('shop-1 is to leave and leaves the sync set')
    expect(ordersOf(decision)).toEqual(['renounce shop-1 1@1'])
  })

  it('is left alone while the cluster is paused: a person may put the right volume back', () => {
    expect(renounced(wentBack('shop-1', { notes: { paused: { reason: 'work', wallMs: 1 } } }))).toEqual([])
  })

  it('is told nothing while nobody else leads: neither the primary of the record, nor a replica beside a primary that is dead', () => {
    expect(renounced(wentBack('shop-0'))).toEqual([])
    expect(renounced(wentBack('shop-1', { views: { 'shop-0': deadServer } }))).toEqual([])
    expect(renounced(wentBack('shop-1'))).toHaveLength(1)
  })

  it('stays what it is where nobody could lead without it, and the way out is said', () => {
    const both = wentBack('shop-0', { record: { syncSet: [shop1] }, views: { 'shop-1': { reachable: false } } })
    const decision = decide(both)
    expect(decision.sentence).toMatch(
      /^no automatic failover: the volume of shop-0 went back in time.* give up what they hold: regent failover --accept-loss \(with --to shop-0 it is taken as it is now\)$/,
    )
    expect(ordersOf(decision)).toEqual([])
  })

  it('is believed again once a person has vouched for it', () => {
    const { snapshot, notes } = wentBack('shop-0')
    const vouched = withoutIncarnations(notes, shop0)
    const [view] = snapshot.instances
    expect(vouched.incarnations).toEqual({})
    expect(view?.observation && standingOf(vouched, { ...view.observation, member: shop0 })).toBe('new')
  })

  it('is no primary: the sync set alone revokes, as if its agent were gone', () => {
    const decision = decide(wentBack('shop-0'))
    expect(decision.sentence).toBe(
      'failing over: the volume of shop-0 went back in time and is nobody’s who is known; asking shop-1 and shop-2 to promise epoch 2',
    )
    expect(ordersOf(decision)).toEqual(['promise shop-1 2@1', 'promise shop-2 2@1'])
  })

  it('is seeded again once it is a new member, and joins nothing before', () => {
    const stored = {
      fromThePast: true,
      assignment: { epoch: 1, revision: 1, role: 'replica', counted: false, fenced: false, source: 'shop-0' },
    } as const
    const decision = decide(
      aSituation({ record: { syncSet: ['shop-2@volume-2'] }, views: { 'shop-1': { member: 'shop-1@new', stored } } }),
    )
    expect(decision.sentence).toMatch(/^shop-1 went back in time.* it is archived and seeded again from shop-2$/)
  })
})
