import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import type { PromiseReport } from '#topology/snapshot/observation.ts'
import { gtids, uuidOf, type ViewOverrides } from '#topology/testing.ts'
import { bump } from '#failover/steps/commit.ts'
import { analyse, decide } from '#failover/decide.ts'
import {
  aSituation,
  committed,
  deadServer,
  ordersOf,
  promised,
  promisedAsPrimary,
  shop0,
  shop1,
  shop2,
  type SituationOverrides,
} from '#failover/testing.ts'

const elected = gtids('shop-0', 103)
const missing = '00000000-0000-0000-0000-000000000000:101-103'
const closed = { readOnly: true, superReadOnly: true, offlineMode: true } as const

/** shop-1 was elected in epoch 2, and three transactions were thrown away under it before it opened. */
const lacking: ViewOverrides = {
  follows: null,
  lacksElected: missing,
  server: closed,
  stored: {
    promise: 2,
    revision: 2,
    assignment: { epoch: 2, revision: 2, role: 'primary', counted: false, fenced: false, source: null },
  },
  converged: { revision: 0, done: false, sentence: 'stays closed' },
}
const following = {
  revision: 2,
  assignment: { epoch: 2, revision: 2, role: 'replica', counted: true, fenced: false, source: 'shop-1' },
} as const
/** It promised epoch 3 and holds the first `last` transactions. */
const promised3 = (last: number, more: ViewOverrides = {}): ViewOverrides =>
  promised(last, { epoch: 3, ...more, stored: { ...following, ...more.stored } })
/** The old primary: its mysqld is down. */
const oldPrimary: ViewOverrides = {
  ...deadServer,
  stored: { revision: 2, assignment: { ...following.assignment, counted: false } },
}

function havingThrownAway(given: SituationOverrides = {}) {
  const { record, views, ...rest } = given
  return aSituation({
    record: { epoch: 2, revision: 2, primary: shop1, syncSet: [shop2], elected, ...record },
    shape: { primary: 'shop-1' },
    notes: { lastFailoverWallMs: 999_000 },
    views: {
      'shop-0': { reachable: false },
      'shop-1': lacking,
      'shop-2': { stored: { ...following, promise: 2 } },
      ...views,
    },
    ...rest,
  })
}

const afterThrowingAway = (given?: SituationOverrides) => decide(havingThrownAway(given))

describe('what a primary is elected for', () => {
  const views = { 'shop-0': deadServer, 'shop-1': promised(103), 'shop-2': promised(101) }

  it('is put into the record by the commit of a failover', () => {
    expect(committed(decide(aSituation({ views })))).toMatchObject({ epoch: 2, primary: shop1, elected })
  })

  it('stays in the record of the same epoch, and of the next one with the same primary', () => {
    const situation = aSituation({ record: { elected }, spec: { acks: 0 } })
    expect(committed(decide(situation))).toMatchObject({ epoch: 1, elected })
    expect(committed(bump(situation, say`promised in vain`))).toMatchObject({ epoch: 2, elected })
  })

  it('is only what the candidate has yet to execute, where the whole set is too long for a record', () => {
    // Each interval between two holes: an object of Kubernetes takes a mebibyte.
    const numbers = Array.from({ length: 130_000 }, (_, at) => 2 * at + 1)
    const executed = `${uuidOf('shop-0')}:${numbers.join(':')}`
    const holds = `${executed},${gtids('shop-2', 3)}`
    const showing = (more: Partial<PromiseReport> = {}): ViewOverrides => {
      const view = promised()
      const report = { epoch: 2, holds, executed, asPrimary: false, ...more }
      return { ...view, server: { executed, received: gtids('shop-2', 3) }, promiseReport: report }
    }
    const views = { 'shop-0': deadServer, 'shop-1': showing(), 'shop-2': showing() }
    expect(committed(decide(aSituation({ views }))).elected).toBe(gtids('shop-2', 3))
    const idle = { 'shop-0': deadServer, 'shop-1': showing({ executed: holds }), 'shop-2': showing() }
    expect(committed(decide(aSituation({ views: idle })))).not.toHaveProperty('elected')
  })

  it('belongs to the union of the next election, although nobody who promised has it', () => {
    const decision = decide(aSituation({ record: { elected: gtids('shop-0', 104) }, views }))
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
  })

  it('is said to the primary, but not where its agent is older and would refuse the order', () => {
    const orderTo = (lacksElected: string | undefined) => {
      const views = {
        'shop-0': {
          ...(lacksElected === undefined ? {} : { lacksElected }),
          stored: { promise: 0, revision: 0, assignment: null },
        },
      }
      const { actions } = decide(aSituation({ record: { elected }, views }))
      return actions.find((action) => action.kind === 'assign' && action.to === 'shop-0')
    }
    expect(orderTo('')).toMatchObject({ order: { role: 'primary', elected } })
    expect(orderTo(undefined)).not.toHaveProperty('order.elected')
  })
})

describe('a primary that lacks a part of what it was elected for', () => {
  it('is given up at once: those who count promise the next epoch, however short ago the last failover was', () => {
    const decision = afterThrowingAway()
    expect(ordersOf(decision)).toEqual(['promise shop-2 3@2'])
    expect(decision.sentence).toBe(
      'failing over: shop-1 lacks 3 transactions of the set that it was elected for and stays closed; asking shop-2 to promise epoch 3',
    )
  })

  it('is followed by the one that still holds the whole set', () => {
    expect(committed(afterThrowingAway({ views: { 'shop-2': promised3(103) } }))).toMatchObject({
      epoch: 3,
      primary: shop2,
      elected,
    })
  })

  it('is not followed by one that lacks a part too: whoever else is there is asked first, the old primary among them', () => {
    const decision = afterThrowingAway({
      views: { 'shop-0': { ...oldPrimary, stored: { ...oldPrimary.stored, promise: 2 } }, 'shop-2': promised3(101) },
    })
    expect(ordersOf(decision)).toEqual(['promise shop-0 3@2'])
  })

  it('is followed by the old primary, whose binlog holds the set, where nobody else does', () => {
    const views = { 'shop-0': promisedAsPrimary(103, { ...oldPrimary, epoch: 3 }), 'shop-2': promised3(101) }
    expect(committed(afterThrowingAway({ views }))).toMatchObject({ epoch: 3, primary: shop0, elected })
  })

  it('is not given its epoch back while it promises and ends its server for that: the old primary leads as soon as it has reported', () => {
    const record = { syncSet: [] }
    const others = { 'shop-0': promisedAsPrimary(103, { ...oldPrimary, epoch: 3 }), 'shop-2': promised3(101) }
    const ending: ViewOverrides = { ...lacking, process: 'exiting', stored: { ...lacking.stored, promise: 3 } }
    const meanwhile = afterThrowingAway({ record, views: { ...others, 'shop-1': ending } })
    expect(meanwhile.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
    expect(meanwhile.sentence).toMatch(/^failing over: shop-1 lacks 3 transactions/)
    const reported: ViewOverrides = {
      ...ending,
      ...deadServer,
      promiseReport: { epoch: 3, holds: gtids('shop-0', 100), executed: gtids('shop-0', 100), asPrimary: true },
    }
    expect(committed(afterThrowingAway({ record, views: { ...others, 'shop-1': reported } }))).toMatchObject({
      epoch: 3,
      primary: shop0,
      elected,
    })
  })

  it('leaves a cluster that waits, and says for whom, where nobody who answers holds the set', () => {
    const decision = afterThrowingAway({ views: { 'shop-2': promised3(101) } })
    expect(ordersOf(decision)).toEqual([])
    expect(decision).toMatchObject({
      blocked: true,
      sentence:
        'no primary: shop-1 lacks 3 transactions of the set that it was elected for and stays closed; nobody who may lead holds that set: bring back shop-0, or give that up: regent failover --accept-loss',
    })
  })

  it('gives way to what a person accepts', () => {
    const requests = [{ kind: 'failover', id: 'r', to: null, acceptLoss: true }] as const
    const views = { 'shop-2': promised3(101) }
    expect(committed(afterThrowingAway({ nowMs: 5_000, requests, views }))).toMatchObject({
      epoch: 3,
      primary: shop2,
      elected: gtids('shop-0', 101),
    })
  })

  it('makes nobody errant, is no measure of a tail, and nobody is seeded against it', () => {
    const tail: ViewOverrides = {
      stored: {
        ...following,
        promise: 2,
        revision: 1,
        assignment: { ...following.assignment, counted: false, revision: 1, epoch: 1 },
      },
      server: { executed: `${elected},${gtids('shop-0', 110)}` },
    }
    const situation = havingThrownAway({
      notes: { paused: { reason: 'looking', wallMs: 0 } },
      views: { 'shop-0': tail },
    })
    const decision = decide(situation)
    expect(decision.actions.filter(({ kind }) => kind === 'reseed')).toEqual([])
    expect(
      decision.actions.flatMap((action) =>
        action.kind === 'assign' && action.order.role === 'replica' ? [action.order.sourceHolds] : [],
      ),
    ).not.toContainEqual(expect.stringContaining(':1-100'))
    expect(analyse(situation).map(({ code }) => code)).not.toContain('ErrantTransactions')
    expect(analyse(situation).map(({ code }) => code)).toContain('ElectedSetLost')
  })
})

it('An old primary that was elected while its mysqld was down is started, and is no reason for another failover', () => {
  const record = { epoch: 3, revision: 3, primary: shop0, syncSet: [shop2], elected }
  const views = {
    'shop-0': promisedAsPrimary(103, { ...oldPrimary, epoch: 3 }),
    'shop-1': { reachable: false },
    'shop-2': promised3(103),
  }
  const decision = decide(aSituation({ record, views }))
  expect(decision).toMatchObject({
    flow: 'restart',
    sentence: 'restarting shop-0: mysqld of shop-0 is to be started: it was elected while it was down',
  })
  expect(ordersOf(decision)[0]).toMatch(/^primary shop-0 .* may restart 3@3$/)
})
