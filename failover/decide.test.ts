import { describe, expect, it, test } from 'vitest'
import { aSnapshot, gtids } from '#topology/testing.ts'
import { analyse, decide } from './decide.ts'
import {
  aSituation,
  committed,
  deadPrimary,
  deadServer,
  ordersOf,
  promised,
  shop1,
  shop2,
  type SituationOverrides,
} from './testing.ts'
import { expectBelow } from '#test/support/expect-below.ts'

test('a healthy cluster needs nothing, and the sentence says so', () => {
  const decision = decide(aSituation())
  expect(decision).toMatchObject({ actions: [], blocked: false, flow: null, revisitMs: null })
  expect(decision.sentence).toBe('no action: primary shop-0 is healthy, 2 of 2 replicas in the sync set')
  expect(analyse(aSituation())).toEqual([])
})

test('a replica that counts and is far behind is named with its figures, since counting is not being whole', () => {
  const channel = { lagSeconds: 666.4, backlogTransactions: 9_104 }
  const { sentence, blocked } = decide(aSituation({ views: { 'shop-2': { server: { channel } } } }))
  expect(sentence).toBe(
    'no action: primary shop-0 is healthy, 2 of 2 replicas in the sync set; shop-2 is 666 s behind with 9104 transactions to apply',
  )
  expect(blocked).toBe(false)
})

test('the same input always gives the same decision', () => {
  const situation = aSituation({ views: { 'shop-0': deadServer, 'shop-1': promised(103), 'shop-2': promised(101) } })
  expect(decide(situation)).toEqual(decide(situation))
})

test('a manager that reaches nobody suspects itself and does nothing', () => {
  const away = { reachable: false } as const
  const decision = decide(
    aSituation({ nowMs: 60_000, views: { 'shop-0': away, 'shop-1': away, 'shop-2': away }, published: undefined }),
  )
  expect(decision).toMatchObject({ actions: [], blocked: true })
  expect(decision.sentence).toContain('reaches no instance at all and suspects itself')
})

test('a manager of a cluster that is just being made waits for the agents, and does not suspect itself', () => {
  const away = { unheard: true } as const
  const decision = decide({
    ...aSituation({ views: { 'shop-0': away, 'shop-1': away, 'shop-2': away }, published: undefined }),
    record: undefined,
  })
  expect(decision).toMatchObject({ actions: [], blocked: false, revisitMs: 1_000 })
  expect(decision.sentence).toBe('waiting for the first word of the agents of shop-0, shop-1, shop-2')
})

describe('a record from the past', () => {
  const cases: Readonly<Record<string, SituationOverrides>> = {
    'shows by an agent that acts on a newer epoch': {
      views: {
        'shop-2': {
          stored: {
            promise: 2,
            assignment: { epoch: 2, revision: 1, role: 'replica', counted: true, fenced: false, source: 'shop-0' },
          },
        },
      },
    },
    'shows by a promise two epochs ahead': { views: { 'shop-2': { stored: { promise: 3 } } } },
    'shows by a newer revision': { views: { 'shop-2': { stored: { revision: 2 } } } },
  }
  it.each(Object.entries(cases))('%s, and nothing at all is ordered', (_, given) => {
    const decision = decide(
      aSituation({ ...given, published: undefined, views: { 'shop-0': deadServer, ...given.views } }),
    )
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toMatch(/^record from the past: shop-2 .*until a person restores the newer record/)
  })

  it('is not taken for one while a failover is under way', () => {
    expect(
      decide(aSituation({ views: { 'shop-0': deadServer, 'shop-2': { stored: { promise: 2 } } } })).sentence,
    ).toMatch(/^failing over/)
  })
})

test('a record that names another primary than the one that was made primary in its epoch is named, and nothing at all is ordered', () => {
  const made = {
    stored: {
      promise: 2,
      assignment: { epoch: 2, revision: 3, role: 'primary', counted: false, fenced: false, source: null },
      revision: 3,
    },
  } as const
  const given: SituationOverrides = {
    record: { epoch: 2, revision: 5 },
    views: { 'shop-1': made },
    published: undefined,
  }
  const decision = decide(aSituation(given))
  expect(decision).toMatchObject({ actions: [], blocked: true })
  expect(decision.sentence).toBe(
    'record of another history: shop-1 was made primary of epoch 2, revision 3; the record says shop-0 in the same epoch, revision 5. Nothing is ordered until a person restores the right record',
  )
  expect(analyse(aSituation(given)).map(({ code }) => code)).toContain('RecordOfAnotherHistory')
  // Whoever led an earlier epoch is only late.
  expect(decide(aSituation({ ...given, record: { epoch: 3, revision: 5 } })).sentence).not.toContain('another history')
})

describe('the published address', () => {
  const moved: SituationOverrides = { record: { epoch: 2, revision: 2, primary: shop1, syncSet: [] } }

  it('is swapped as soon as the record has another primary, whatever else is to do', () => {
    expect(decide(aSituation(moved)).actions[0]).toEqual({
      kind: 'route',
      route: { epoch: 2, instance: 'shop-1', host: '127.24.1.2', port: 3306 },
    })
  })

  it('follows a primary whose address changed', () => {
    expect(
      decide(aSituation({ published: { epoch: 1, instance: 'shop-0', host: '10.0.0.9', port: 3306 } })).actions,
    ).toEqual([{ kind: 'route', route: { epoch: 1, instance: 'shop-0', host: '127.24.1.1', port: 3306 } }])
  })

  it('is never taken back to an older epoch', () => {
    expect(
      decide(aSituation({ published: { epoch: 2, instance: 'shop-1', host: '127.24.1.2', port: 3306 } })).actions,
    ).toEqual([])
  })
})

describe('an automatic failover is held back', () => {
  const restart = ['primary shop-0 counts [shop-1,shop-2] lets in [] k=1 may restart 1@1']
  const frozen = { process: 'stopped', processSinceMs: 5_000 } as const
  const gates: Readonly<
    Record<string, readonly [says: string, given: SituationOverrides, whenDead: readonly string[]]>
  > = {
    'while the cluster is paused': [
      'the cluster is paused (maintenance)',
      { notes: { paused: { reason: 'maintenance', wallMs: 0 } } },
      [],
    ],
    'where it is switched off': [
      'automatic failover is off',
      { spec: { failover: { automatic: false, windowMs: 60_000 } } },
      restart,
    ],
    'shortly after the last one': [
      'the last automatic failover was at 00:16:10 UTC, the next one may be at 00:17:10 UTC (window 60 s)',
      { spec: { failover: { automatic: true, windowMs: 60_000 } }, notes: { lastFailoverWallMs: 970_000 } },
      restart,
    ],
  }
  it.each(Object.entries(gates))('%s, and says so', (_, [says, given, whenDead]) => {
    const stopped = decide(aSituation({ ...given, views: { 'shop-0': frozen } }))
    expect(stopped).toMatchObject({ actions: [], blocked: true })
    expect(stopped.sentence).toContain(says)
    const dead = decide(aSituation({ ...given, views: { 'shop-0': deadPrimary } }))
    expect(dead.sentence).toContain(says)
    expect(ordersOf(dead)).toEqual(whenDead)
  })

  it('from a primary that a person fenced in place', () => {
    const decision = decide(
      aSituation({
        notes: { fenced: [{ instance: 'shop-0', keepPrimary: true, wallMs: 0 }] },
        views: { 'shop-0': frozen },
      }),
    )
    expect(decision.sentence).toContain('shop-0 is fenced on purpose')
    expect(ordersOf(decision).filter((order) => order.startsWith('promise'))).toEqual([])
  })

  it('not after its window', () => {
    expect(
      decide(
        aSituation({
          spec: { failover: { automatic: true, windowMs: 60_000 } },
          notes: { lastFailoverWallMs: 930_000 },
          views: { 'shop-0': deadServer },
        }),
      ).flow,
    ).toBe('failover')
  })

  it('not once the old epoch is revoked: there is no way back but forward', () => {
    const views = { 'shop-0': deadServer, 'shop-1': promised(), 'shop-2': promised() }
    expect(
      committed(decide(aSituation({ notes: { paused: { reason: 'maintenance', wallMs: 0 } }, views }))),
    ).toMatchObject({ epoch: 2, primary: shop1 })
  })
})

test('a primary whose agent is gone while replicas hear its server is left alone', () => {
  const decision = decide(aSituation({ nowMs: 5_000, views: { 'shop-0': { reachable: false } } }))
  expect(decision).toMatchObject({ actions: [], blocked: true })
  expect(decision.sentence).toContain('still hear its server')
})

test('a paused cluster changes nothing and says why', () => {
  const decision = decide(
    aSituation({ notes: { paused: { reason: 'maintenance', wallMs: 0 } }, record: { syncSet: [shop1] } }),
  )
  expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
  expect(decision.sentence).toContain('paused: maintenance')
})

test('nobody who holds a newer assignment is told to be an older one while a failover goes on', () => {
  const decision = decide(
    aSituation({ record: { revision: 2, syncSet: [shop1, shop2] }, views: { 'shop-0': deadServer } }),
  )
  expect(ordersOf(decision)).toEqual(['promise shop-1 2@2', 'promise shop-2 2@2'])
})

test('a decision about five instances with long GTID sets takes less than a millisecond', () => {
  const many = Array.from({ length: 400 }, (_, index) => `${10 * index + 1}-${10 * index + 8}`).join(':')
  const executed = `${gtids('shop-0', 9_000_000)},${gtids('shop-1', 1).replace(/:1-1$/, '')}:${many}`
  const server = { executed, received: executed }
  const views = Object.fromEntries(
    Array.from({ length: 5 }, (_, ordinal) => [`shop-${ordinal}`, { server: ordinal === 0 ? { executed } : server }]),
  )
  const healthy = aSituation({ snapshot: aSnapshot(views, { instances: 5 }), shape: { instances: 5 } })
  const dead = aSituation({
    snapshot: aSnapshot({ ...views, 'shop-0': deadServer }, { instances: 5 }),
    shape: { instances: 5 },
  })
  for (let warm = 0; warm < 200; warm += 1) for (const situation of [healthy, dead]) decide(situation)
  const took = Array.from({ length: 200 }, () => {
    const began = performance.now()
    decide(healthy)
    decide(dead)
    return (performance.now() - began) / 2
  })
  expectBelow(1, took.toSorted((a, b) => a - b)[100])
})
