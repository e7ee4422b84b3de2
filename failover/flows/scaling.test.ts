import { saying } from '#test/support/said-as-text.ts'
import { describe, expect, it } from 'vitest'
import { decide } from '../decide.ts'
import { planScale, scalingStep } from './scaling.ts'
import { semisync } from '../semisync/decide-semisync.ts'
import { aGroupSituation, nobodyIn } from '../group/testing-group.ts'
import type { Situation } from '../judge/situation.ts'
import {
  aSituation,
  committed,
  deadPrimary,
  never,
  shop1,
  shop2,
  uncounted,
  type SituationOverrides,
} from '../testing.ts'

function scaled(instances: number, given: SituationOverrides = {}) {
  return decide(aSituation({ ...given, notes: { instances, ...given.notes } }))
}

describe('scale-out', () => {
  it('asks the platform for the instances', () => {
    expect(scaled(5)).toMatchObject({
      sentence: 'scaling out from 3 to 5 instances',
      actions: [{ kind: 'scale', count: 5 }],
    })
  })

  it('takes nobody away whom the record names, however few are seen: the set may just have been deleted or relabelled', () => {
    const unseen = (given: SituationOverrides): Situation => {
      const situation = aSituation({ notes: { instances: 2 }, ...given })
      return { ...situation, snapshot: { ...situation.snapshot, instances: situation.snapshot.instances.slice(0, 1) } }
    }
    expect(scalingStep(unseen({}), semisync)?.actions).toEqual([{ kind: 'scale', count: 3 }])
    expect(scalingStep(unseen({ record: { syncSet: [shop1] } }), semisync)?.actions).toEqual([
      { kind: 'scale', count: 2 },
    ])
    const nobodyLeads = unseen({ record: { acks: 2, acksWanted: 2 }, views: { 'shop-0': deadPrimary } })
    expect(decide(nobodyLeads).actions.filter(({ kind }) => kind === 'scale')).toEqual([{ kind: 'scale', count: 3 }])
  })

  it('raises k only once more replicas are in the sync set than that: until then the loss of one would stop writes', () => {
    const five: SituationOverrides = {
      shape: { instances: 5 },
      spec: { instances: 3 },
      record: { acks: 1, acksWanted: 1 },
      views: { 'shop-3': { reachable: false }, 'shop-4': { reachable: false } },
    }
    expect(
      scaled(5, { ...five, record: { ...five.record, syncSet: [shop1, shop2] } }).actions.filter(
        ({ kind }) => kind === 'commit',
      ),
    ).toEqual([])
    expect(
      committed(
        scaled(5, {
          ...five,
          views: { 'shop-4': { reachable: false } },
          record: { ...five.record, syncSet: [shop1, shop2, 'shop-3@volume-3'] },
        }),
      ),
    ).toMatchObject({ acks: 1, acksWanted: 2 })
  })
})

describe('Where nobody leads, an instance that the record names and that is not there', () => {
  const without2 = (situation: Situation): Situation => {
    const instances = situation.snapshot.instances.filter(({ name }) => name !== 'shop-2')
    return { ...situation, snapshot: { ...situation.snapshot, instances } }
  }
  const k2 = { record: { acks: 2, acksWanted: 2 }, views: { 'shop-0': deadPrimary } }
  const modes = [
    ['semisync', (given: SituationOverrides) => without2(aSituation({ ...k2, ...given }))],
    ['group', (given: SituationOverrides) => without2(aGroupSituation({ sees: nobodyIn, ...given }))],
  ] as const

  it.each(modes)('is made again: it may hold what was acknowledged last (%s)', (_, situation) => {
    const decision = decide(situation({}))
    expect(decision.actions.filter(({ kind }) => kind === 'scale')).toEqual([{ kind: 'scale', count: 3 }])
    expect(decision.sentence).toMatch(/; shop-2 is not there and is made again$/)
  })

  it.each(modes)('is not where it is not wanted, nor where the cluster is paused (%s)', (_, situation) => {
    const paused = { paused: { reason: 'maintenance', wallMs: 0 } }
    for (const notes of [{ instances: 2 }, paused])
      expect(decide(situation({ notes })).actions.filter(({ kind }) => kind === 'scale')).toEqual([])
  })
})

describe('scale-in', () => {
  it('first takes leavers out of the sync set', () => {
    expect(committed(scaled(2))).toMatchObject({ leaving: [shop2] })
  })

  it('waits for them, and only then takes their instances away', () => {
    const wait = scaled(2, {
      record: { leaving: [shop2] },
      views: { 'shop-2': { server: { channel: { ioRunning: 'connecting' } } }, 'shop-0': { markedRevision: 0 } },
    })
    expect(wait.sentence).toBe('scale-in to 2: shop-2 must leave the sync set first')
    expect(wait.actions.filter(({ kind }) => kind === 'scale')).toEqual([])
    const go = scaled(2, { record: { syncSet: [shop1] } })
    expect(go.sentence).toBe('scale-in to 2: shop-2 goes')
    expect(go.actions).toContainEqual({ kind: 'scale', count: 2 })
  })

  const primaryIsLast: SituationOverrides = {
    shape: { primary: 'shop-2' },
    record: { primary: shop2, syncSet: ['shop-0@volume-0', shop1] },
    published: { epoch: 1, instance: 'shop-2', host: '127.24.1.3', port: 3306 },
  }

  it('of the primary is a switchover to one that stays, first', () => {
    const decision = scaled(2, primaryIsLast)
    expect(committed(decision)).toMatchObject({
      revision: 2,
      intent: { kind: 'switchover', candidate: 'shop-0@volume-0', reason: 'scale-in to 2: shop-2 is to go' },
    })
  })

  it('of the primary waits while nobody can take over, and says why', () => {
    const decision = scaled(2, { ...primaryIsLast, spec: { policies: { 'shop-0': never, 'shop-1': never } } })
    expect(decision).toMatchObject({ blocked: true })
    expect(decision.sentence).toBe(
      'scale-in to 2 waits: shop-2 is primary and no replica can take over: the policy of shop-0 is never; the policy of shop-1 is never',
    )
  })

  /** Uncounted, told to wait for its copy. */
  const empty = {
    server: { executed: '', received: '', channel: null },
    stored: {
      assignment: { ...uncounted, sourceReady: false },
    },
  } as const

  it('that waits for a member which cannot be spared has the one that could take its place copied', () => {
    const decision = scaled(2, {
      spec: { cloneAboveTransactions: 50 },
      record: { syncSet: [shop2] },
      views: { 'shop-1': empty },
    })
    expect(decision.sentence).toBe(
      'scale-in to 2: shop-2 must leave the sync set first; shop-1 is empty and lacks 100 transactions; it is archived and seeded again from shop-2',
    )
    expect(decision.actions.map(({ kind }) => kind)).toContain('reseed')
  })

  it('does not have one copied that goes', () => {
    const decision = scaled(2, {
      spec: { cloneAboveTransactions: 50 },
      record: { syncSet: [shop1] },
      views: { 'shop-2': empty },
    })
    expect(decision.sentence).toBe('scale-in to 2: shop-2 goes')
    expect(decision.actions.map(({ kind }) => kind)).not.toContain('reseed')
  })

  it('to one lowers k to nothing before the last replica leaves', () => {
    expect(committed(scaled(1, { record: { syncSet: [shop1] }, shape: { instances: 2 } }))).toMatchObject({
      acks: 0,
      acksWanted: 0,
      syncSet: [shop1],
    })
  })
})

describe('a dry run of scaling', () => {
  it.each([
    [3, ['there are 3 instances already']],
    [
      5,
      [
        'add shop-3 and shop-4',
        'seed them from the healthiest replica',
        'let them into the sync set when they have caught up',
      ],
    ],
    [2, ['shop-2 leaves the sync set', 'then what leaves is taken away; its volume is kept']],
  ])('to %i says what it would do', (count, steps) => {
    expect(planScale(aSituation(), count, semisync)).toEqual({ steps })
  })

  it('says that the primary would move', () => {
    const plan = planScale(
      aSituation({ shape: { primary: 'shop-2' }, record: { primary: shop2, syncSet: ['shop-0@volume-0', shop1] } }),
      2,
      semisync,
    )
    expect(String('steps' in plan && plan.steps[0])).toBe('switch over from shop-2 to shop-0')
  })

  it('is refused with the reason why the primary cannot move', () => {
    expect(
      planScale(aSituation({ shape: { primary: 'shop-2' }, record: { primary: shop2, syncSet: [] } }), 2, semisync),
    ).toEqual({
      refusal: saying('shop-2 is primary and would have to go, but no replica can take over'),
    })
  })
})
