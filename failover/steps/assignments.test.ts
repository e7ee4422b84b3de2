import { describe, expect, it } from 'vitest'
import { gtids, uuidOf, type ViewOverrides } from '#topology/testing.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { assignmentOrders } from './assignments.ts'
import type { ReplicaAssignment } from '../protocol/assignment.ts'
import { aSituation, deadServer, ordersOf, promised, shop1, shop2, type SituationOverrides } from '../testing.ts'

function ordersIn(given: SituationOverrides, options?: { mayRestart: boolean }): readonly string[] {
  return ordersOf({ actions: assignmentOrders(aSituation(given), options) })
}

/** It stored this revision and acts on it. */
const primaryAt = (
  revision: number,
  server: ViewOverrides['server'] = {},
  addresses?: Readonly<Record<string, string>>,
): ViewOverrides => ({
  stored: {
    revision,
    assignment: {
      epoch: 1,
      revision,
      role: 'primary',
      counted: false,
      fenced: false,
      source: null,
      ...(addresses && { addresses }),
    },
  },
  converged: { revision, done: true, sentence: '' },
  server,
})

const replicaAt = (
  revision: number,
  counted: boolean,
  more: ViewOverrides = {},
  addresses?: Readonly<Record<string, string>>,
): ViewOverrides => ({
  ...more,
  stored: {
    revision,
    assignment: {
      epoch: 1,
      revision,
      role: 'replica',
      counted,
      fenced: false,
      source: 'shop-0',
      ...(addresses && { addresses }),
    },
    ...more.stored,
  },
  converged: { revision, done: true, sentence: '', ...more.converged },
})

/** It acts on epoch 2, revision 2. */
const ofNewEpoch = (role: 'primary' | 'replica', more: { sourceReady?: boolean } = {}): ViewOverrides => ({
  stored: {
    promise: 2,
    revision: 2,
    assignment: {
      epoch: 2,
      revision: 2,
      role,
      counted: role === 'replica',
      fenced: false,
      source: role === 'replica' ? 'shop-0' : null,
      ...more,
    },
  },
  converged: { revision: 2, done: role === 'primary', sentence: '' },
})

/**
 * Revision 2, in which only shop-1 counts; everybody but shop-2 acts on it, and more than 50 transactions are copied
 * rather than applied.
 */
const copied = { record: { revision: 2, syncSet: [shop1] }, spec: { cloneAboveTransactions: 50 } }
const actsOn2 = { 'shop-0': primaryAt(2, { openGates: ['shop-1', 'shop-2'] }), 'shop-1': replicaAt(2, true) }
const empty = (revision: number, more: { sourceReady?: boolean } = {}, executed = ''): ViewOverrides => ({
  stored: {
    revision,
    assignment: { epoch: 1, revision, role: 'replica', counted: false, fenced: false, source: 'shop-0', ...more },
  },
  converged: { revision, done: false, sentence: '' },
  server: { executed, received: '', channel: null },
})
const foreign = { foreignTables: ['app.legacy'] }

describe('orders', () => {
  const cases: Readonly<Record<string, readonly [given: SituationOverrides, orders: readonly string[]]>> = {
    'are not sent to those who do as they are told': [{}, []],
    'go to all who were told of another address, also of the same revision': [
      {
        views: {
          'shop-0': primaryAt(
            1,
            {},
            { 'shop-0': '127.24.1.1:9400', 'shop-1': '127.24.1.99:9400', 'shop-2': '127.24.1.3:9400' },
          ),
          'shop-1': replicaAt(
            1,
            true,
            {},
            { 'shop-0': '127.24.1.1:9400', 'shop-1': '127.24.1.2:9400', 'shop-2': '127.24.1.3:9400' },
          ),
          'shop-2': replicaAt(
            1,
            true,
            {},
            { 'shop-0': '127.24.1.88:9400', 'shop-1': '127.24.1.2:9400', 'shop-2': '127.24.1.3:9400' },
          ),
        },
      },
      ['primary shop-0 counts [shop-1,shop-2] lets in [] k=1 1@1', 'follow shop-2 counted 1@1'],
    ],
    'of a new revision go to the primary first; counted replicas wait until it applied them': [
      { record: { revision: 2 } },
      ['primary shop-0 counts [shop-1,shop-2] lets in [] k=1 1@2'],
    ],
    'go to counted replicas once the primary applied the revision': [
      { record: { revision: 2 }, views: { 'shop-0': primaryAt(2) } },
      ['follow shop-1 counted 1@2', 'follow shop-2 counted 1@2'],
    ],
    'do not go to counted replicas while the primary has only stored the revision': [
      {
        record: { revision: 2 },
        views: { 'shop-0': { ...primaryAt(2), converged: { revision: 1, done: true, sentence: '' } } },
      },
      [],
    ],
    'to a replica that leaves go at once, and without its being counted': [
      { record: { revision: 2, leaving: [shop2] } },
      ['primary shop-0 counts [shop-1] lets in [] k=1 1@2', 'follow shop-2 1@2'],
    ],
    'let a replica in that stored that it is not counted, and acts on it': [
      {
        record: { revision: 2, syncSet: [shop1] },
        views: {
          'shop-0': primaryAt(2, { openGates: ['shop-1'] }),
          'shop-1': replicaAt(2, true),
          'shop-2': replicaAt(2, false),
        },
      },
      ['primary shop-0 counts [shop-1] lets in [shop-2] k=1 1@2'],
    ],
    'do not let a replica in whose agent stored that it is not counted and died before it acted': [
      {
        record: { revision: 2, syncSet: [shop1] },
        views: {
          'shop-0': primaryAt(2, { openGates: ['shop-1'] }),
          'shop-1': replicaAt(2, true),
          'shop-2': replicaAt(2, false, { converged: { revision: 0, done: false, sentence: '' } }),
        },
      },
      [],
    ],
    'are not repeated once the gate is open': [
      {
        record: { revision: 2, syncSet: [shop1] },
        views: {
          'shop-0': primaryAt(2, { openGates: ['shop-1', 'shop-2'] }),
          'shop-1': replicaAt(2, true),
          'shop-2': replicaAt(2, false),
        },
      },
      [],
    ],
    'of a new revision wait for a replica that is let in, which would lose its connection': [
      {
        record: { revision: 3, syncSet: [shop1] },
        views: {
          'shop-0': primaryAt(2, { openGates: ['shop-1', 'shop-2'] }),
          'shop-1': replicaAt(2, true),
          'shop-2': replicaAt(2, false),
        },
      },
      ['follow shop-2 1@3'],
    ],
    'of a new revision do not wait for a replica that is being seeded and cannot be told; it is let in for its copy': [
      {
        record: { revision: 3, syncSet: [shop1] },
        views: {
          'shop-0': primaryAt(2, { openGates: ['shop-1', 'shop-2'] }),
          'shop-1': replicaAt(2, true),
          'shop-2': replicaAt(2, false, { stored: { seeding: true } }),
        },
      },
      ['primary shop-0 counts [shop-1] lets in [shop-2] k=1 1@3'],
    ],
    'tell the primary the k it is to wait for, before the record counts on it': [
      { record: { revision: 2, acks: 1, acksWanted: 2 } },
      ['primary shop-0 counts [shop-1,shop-2] lets in [] k=2 1@2'],
    ],
    'of a new epoch tell counted replicas at once to prepare, and once the primary has set its gates to connect': [
      { record: { epoch: 2, revision: 2 } },
      [
        'primary shop-0 counts [shop-1,shop-2] lets in [] k=1 2@2',
        'prepare shop-1 counted 2@2',
        'prepare shop-2 counted 2@2',
      ],
    ],
    'tell those who have prepared to connect': [
      {
        record: { epoch: 2, revision: 2 },
        views: {
          'shop-0': ofNewEpoch('primary'),
          'shop-1': ofNewEpoch('replica', { sourceReady: false }),
          'shop-2': ofNewEpoch('replica'),
        },
      },
      ['follow shop-1 counted 2@2'],
    ],
    'tell an empty replica that is to be copied to prepare only: it would receive something, and no longer be empty': [
      { ...copied, views: { ...actsOn2, 'shop-2': empty(1) } },
      ['prepare shop-2 1@2'],
    ],
    'tell one of which nothing is known yet to prepare only': [
      { ...copied, views: { ...actsOn2, 'shop-2': { server: null, stored: { assignment: null } } } },
      ['prepare shop-2 1@2'],
    ],
    'let one of which nothing is known any more, and which was let go before, connect by itself': [
      { ...copied, views: { ...actsOn2, 'shop-2': { ...replicaAt(1, false), ...deadServer } } },
      ['follow shop-2 1@2'],
    ],
    'tell an empty replica to prepare only while nothing is known of the primary': [
      {
        record: { epoch: 2, revision: 2, primary: shop1, syncSet: [] },
        spec: { cloneAboveTransactions: 50 },
        views: { 'shop-0': { reachable: false }, 'shop-1': { reachable: false }, 'shop-2': empty(1) },
      },
      ['prepare shop-2 2@2'],
    ],
    'tell an empty replica that is in the sync set to connect, also when it leaves: it is never copied there': [
      { ...copied, record: { revision: 2, leaving: [shop2] }, views: { ...actsOn2, 'shop-2': empty(1) } },
      ['follow shop-2 1@2'],
    ],
    'tell an empty replica that waits for its copy of a new revision, without which it could not be ordered': [
      {
        ...copied,
        record: { revision: 3, syncSet: [shop1] },
        views: {
          'shop-0': primaryAt(3, { openGates: ['shop-1'] }),
          'shop-1': replicaAt(3, true),
          'shop-2': empty(2, { sourceReady: false }),
        },
      },
      ['prepare shop-2 1@3'],
    ],
    'are not repeated while it waits for its copy, however long': [
      {
        ...copied,
        views: { ...actsOn2, 'shop-2': empty(2, { sourceReady: false }) },
        strayingSince: new Map([['shop-2', -60_000]]),
      },
      [],
    ],
    'tell it to connect once it has its copy': [
      { ...copied, views: { ...actsOn2, 'shop-2': empty(2, { sourceReady: false }, gtids('shop-0', 90)) } },
      ['follow shop-2 1@2'],
    ],
    'tell an empty replica to connect where there is little to copy': [
      { ...copied, spec: {}, views: { ...actsOn2, 'shop-2': empty(1) } },
      ['follow shop-2 1@2'],
    ],
    'tell an empty replica to connect where a person decides what is copied': [
      { ...copied, spec: { cloneAboveTransactions: 50, reseed: 'manual' }, views: { ...actsOn2, 'shop-2': empty(1) } },
      ['follow shop-2 1@2'],
    ],
    'tell an empty replica to connect where nobody can be copied': [
      {
        ...copied,
        views: {
          'shop-0': primaryAt(2, { ...foreign, openGates: ['shop-1'] }),
          'shop-1': replicaAt(2, true, { server: foreign }),
          'shop-2': empty(1),
        },
      },
      ['follow shop-2 1@2'],
    ],
    'do not go to who promised a newer epoch': [
      { record: { revision: 2 }, views: { 'shop-0': promised(), 'shop-1': promised(), 'shop-2': promised() } },
      [],
    ],
    'are not sent again while the primary they are about is away': [
      {
        record: { revision: 2, syncSet: [shop1] },
        views: { 'shop-0': { reachable: false }, 'shop-2': replicaAt(1, false) },
      },
      [],
    ],
    'tell an old primary of the new epoch although the new one is away': [
      {
        record: { epoch: 2, revision: 2, primary: shop1, syncSet: [] },
        views: { 'shop-1': { reachable: false }, 'shop-2': { reachable: false } },
      },
      ['follow shop-0 2@2'],
    ],
    'tell a replica that it is fenced': [
      { notes: { fenced: [{ instance: 'shop-2', keepPrimary: false, wallMs: 0 }] } },
      ['follow shop-2 counted 1@1'],
    ],
    'tell a primary that it is fenced': [
      { notes: { fenced: [{ instance: 'shop-0', keepPrimary: true, wallMs: 0 }] } },
      ['primary shop-0 counts [shop-1,shop-2] lets in [] k=1 1@1'],
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [given, orders]) => {
    expect(ordersIn(given)).toEqual(orders)
  })

  it('let the primary start again only where that was decided', () => {
    expect(ordersIn({ views: { 'shop-0': deadServer } })).toEqual([])
    expect(ordersIn({ views: { 'shop-0': deadServer } }, { mayRestart: true })).toEqual([
      'primary shop-0 counts [shop-1,shop-2] lets in [] k=1 may restart 1@1',
    ])
  })
})

describe('a replica is told', () => {
  const followOrder = (given: SituationOverrides): ReplicaAssignment => {
    const order = assignmentOrders(aSituation(given)).flatMap((action) =>
      action.kind === 'assign' && action.to === 'shop-2' && action.order.role === 'replica' ? [action.order] : [],
    )[0]
    if (order === undefined) throw new Error('shop-2 is told nothing')
    return order
  }

  it('what the primary holds, waiting transactions included, and which are its own', () => {
    const order = followOrder({
      record: { revision: 2, syncSet: [shop1] },
      views: {
        'shop-0': primaryAt(2, {
          executed: gtids('shop-0', 100),
          owned: `${uuidOf('shop-0')}:101`,
          purged: gtids('shop-0', 9),
        }),
      },
    })
    expect(order).toMatchObject({
      sourceHolds: gtids('shop-0', 101),
      sourceUuid: uuidOf('shop-0'),
      sourcePurged: gtids('shop-0', 9),
      source: { instance: 'shop-0' },
    })
  })

  it('in an assignment for the very start of the agent that was seen, and an older agent, which knows no such word, without', () => {
    const told = (to: string, views: SituationOverrides['views'], takesWord: boolean) => {
      const { snapshot, ...situation } = aSituation({ record: { revision: 2 }, views: views ?? {} })
      const instances = snapshot.instances.map((view) =>
        takesWord || view.observation === null ? view : { ...view, observation: withoutWord(view.observation) },
      )
      return assignmentOrders({ ...situation, snapshot: { instances } }).find(
        (action) => action.kind === 'assign' && action.to === to,
      )
    }
    const withoutWord = ({ bindsToRun: _, ...observation }: Observation): Observation => observation
    for (const [to, views] of [
      ['shop-0', {}],
      ['shop-1', { 'shop-0': primaryAt(2), 'shop-1': replicaAt(1, true) }],
    ] as const) {
      expect(told(to, views, true)).toMatchObject({ order: { run: `run-of-${to}` } })
      expect(told(to, views, false)).toMatchObject({ order: { revision: 2 } })
      expect(told(to, views, false)).not.toHaveProperty('order.run')
    }
  })

  it('once more when its agent has started again, so that this start knows that it is noted; an older agent is not', () => {
    const views = (toldNoted?: boolean) => ({
      'shop-0': { stored: toldNoted === undefined ? {} : { toldNoted } },
      'shop-1': { stored: toldNoted === undefined ? {} : { toldNoted } },
    })
    expect(ordersIn({ views: views(false) })).toEqual([
      expect.stringContaining('primary shop-0'),
      'follow shop-1 counted 1@1',
    ])
    expect(ordersIn({ views: views(true) })).toEqual([])
    expect(ordersIn({ views: views() })).toEqual([])
  })

  it('nothing of what a primary held that does not run', () => {
    const order = followOrder({
      record: { epoch: 2, revision: 2, syncSet: [shop1] },
      views: { 'shop-0': { ...deadServer, binlogSet: gtids('shop-0', 105) } },
    })
    expect(order.sourceHolds).toBe('')
  })

  const waiting = replicaAt(1, true, {
    server: { channel: { ioRunning: 'no' } },
    converged: { revision: 1, done: false, sentence: 'has 3 errant transactions' },
  })

  it('once more when it takes itself for errant and is not, because it was told too little', () => {
    expect(ordersIn({ views: { 'shop-2': waiting }, strayingSince: new Map([['shop-2', -2_000]]) })).toEqual([
      'follow shop-2 counted 1@1',
    ])
  })

  it('nothing more while it is errant, or may just be connecting', () => {
    const errant: ViewOverrides = {
      ...waiting,
      server: { channel: { ioRunning: 'no' }, executed: `${gtids('shop-0', 100)},${gtids('shop-2', 3)}` },
    }
    expect(ordersIn({ views: { 'shop-2': errant }, strayingSince: new Map([['shop-2', -2_000]]) })).toEqual([])
    expect(ordersIn({ views: { 'shop-2': waiting }, strayingSince: new Map([['shop-2', 1_000]]) })).toEqual([])
  })
})

describe('what a forgetful replica is to catch up with', () => {
  /** For what the order to shop-1 is good; null where none is sent. */
  const catchUpFor = (
    forgetfulAs: string | undefined,
    heardForgetful: Readonly<Record<string, string>> | undefined,
    more: ViewOverrides = {},
  ) => {
    const views = {
      'shop-0': { ...more, ...(heardForgetful && { heardForgetful }) },
      'shop-1': forgetfulAs === undefined ? {} : { forgetfulAs },
    }
    const order = assignmentOrders(aSituation({ views })).find(
      ({ kind, ...action }) => kind === 'assign' && 'to' in action && action.to === 'shop-1',
    )
    return order?.kind === 'assign' ? (order.order as ReplicaAssignment).catchUpFor : null
  }

  it('is what the primary held after it had heard of that', () => {
    expect(catchUpFor('run.1', { 'shop-1': 'run.1' })).toBe('run.1')
  })

  it('is not said while the primary has not heard, or has heard of an earlier time', () => {
    expect(catchUpFor('run.1', {})).toBeNull()
    expect(catchUpFor('run.1', { 'shop-1': 'run.0' })).toBeNull()
  })

  it('is what an older primary said last: its agent does not hear', () => {
    expect(catchUpFor('run.1', undefined)).toBe('run.1')
  })

  it('is not said while the primary’s server is down, nor to who forgot nothing', () => {
    expect(catchUpFor('run.1', { 'shop-1': 'run.1' }, { process: 'dead', server: null })).toBeNull()
    expect(catchUpFor(undefined, { 'shop-1': 'run.1' })).toBeNull()
  })
})
