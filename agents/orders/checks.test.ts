import { describe, expect, it, test } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import type { Order, OrderName } from '#failover/protocol/order.ts'
import { gtids, hostOf } from '#topology/testing.ts'
import type { OrderState } from './checks.ts'
import { checkOrder } from './obedience.ts'
import { freshState, type StoredState } from '../instance/stored-state.ts'

const base = { version: 1, cluster: 'shop', member: 'shop-1@v1', epoch: 4, revision: 9 } as const
const peer = { instance: 'shop-0', host: hostOf('shop-0'), port: 3306, agent: `${hostOf('shop-0')}:9400` }
const primary = (more: object = {}): Assignment => ({
  ...base,
  role: 'primary',
  peers: [],
  fenced: false,
  counted: [],
  catchingUp: [],
  acks: 1,
  mayRestart: false,
  ...more,
})
const replica = (more: object = {}): Assignment => ({
  ...base,
  role: 'replica',
  peers: [],
  fenced: false,
  source: peer,
  counted: true,
  sourceUuid: '',
  sourceHolds: '',
  sourcePurged: '',
  ...more,
})
const promise = (more: object = {}): Order => ({ ...base, epoch: 5, after: '', waitMs: 0, ...more })
const demote = (more: object = {}): Order => ({ ...base, epoch: 5, graceMs: 0, deadlineMs: 1_000, ...more })
const fetch = (more: object = {}): Order => ({
  ...base,
  epoch: 5,
  from: peer,
  until: '',
  deadlineMs: 1_000,
  ...more,
})
const held = gtids('shop-0', 100)
const passwords = (more: object = {}): Order => ({ ...base, generation: 'a2', old: 'kept', ...more })
const reseed = (more: object = {}): Order => ({
  ...base,
  donor: peer,
  source: peer,
  destroys: held,
  sourceHolds: '',
  peers: [],
  ...more,
})

const restore = (more: object = {}): Order => ({
  ...base,
  epoch: 1,
  revision: 9,
  store: { address: '/backups' },
  of: 'prod',
  ...more,
})

interface Given extends Partial<Omit<OrderState, 'stored'>> {
  readonly stored?: Partial<StoredState>
}

/** shop-1, that acts as replica of epoch 4 at revision 9, unless a test says otherwise. */
function stateOf({ stored, ...more }: Given): OrderState {
  const acted = { promise: 4, revision: 9, assignment: replica() }
  return {
    cluster: 'shop',
    instance: 'shop-1',
    run: 'run-2',
    process: 'running',
    promiseReport: null,
    holds: held,
    whyNotSeeded: null,
    ...more,
    stored: { ...freshState('v1', 'boot'), ...acted, ...stored },
  }
}

const actsAsPrimary: Given = { stored: { assignment: primary() } }
const stopped: Given = {
  stored: { promise: 5 },
  promiseReport: { epoch: 5, holds: held, executed: held, asPrimary: false },
}
const uncounted: Given = { stored: { assignment: replica({ counted: false }) } }

const emptyInstance: Given = { stored: { promise: 0, revision: 0, assignment: null }, holds: '' }

type Row = readonly [name: OrderName, order: Order, given?: Given]

describe('an agent obeys', () => {
  const rows: Readonly<Record<string, Row>> = {
    'a promise of the next epoch': ['promise', promise()],
    'a promise given once more while everything is still stopped': ['promise', promise(), stopped],
    'a promise several epochs ahead': ['promise', promise({ epoch: 9 })],
    'a promise before its first assignment': [
      'promise',
      promise({ epoch: 1, revision: 0 }),
      { stored: freshState('v1', 'boot') },
    ],
    'an assignment to follow at a newer revision': ['assign', replica({ revision: 10 })],
    'an assignment that was made for this start of it': ['assign', replica({ run: 'run-2' })],
    'the same assignment once more': ['assign', replica()],
    'an assignment to lead the epoch it promised': ['assign', primary({ epoch: 5, revision: 10 }), stopped],
    'a new revision as primary, dead or alive': [
      'assign',
      primary({ revision: 10 }),
      { ...actsAsPrimary, process: 'dead' },
    ],
    'an assignment to lead with its mysqld dead, where it may be restarted': [
      'assign',
      primary({ epoch: 5, revision: 10, mayRestart: true }),
      { process: 'dead' },
    ],
    'an old primary’s assignment to follow in a newer epoch': [
      'assign',
      replica({ epoch: 5, revision: 10 }),
      actsAsPrimary,
    ],
    'a demotion': ['demote', demote(), actsAsPrimary],
    'a fetch under the promise it gave': ['fetch', fetch(), stopped],
    'a re-seed that names exactly what it holds': ['reseed', reseed(), uncounted],
    'a re-seed whose copy did not end': [
      'reseed',
      reseed({ destroys: '' }),
      { stored: { ...uncounted.stored, seeding: true } },
    ],
    'a restore before it is anybody': ['restore', restore(), emptyInstance],
    'to renounce as the incarnation that was judged': [
      'renounce',
      { ...base, incarnation: 'run-2' },
      { stored: { incarnation: 'run-2' } },
    ],
    'other passwords as primary': ['passwords', passwords(), actsAsPrimary],
    'the re-seed of an old primary': ['reseed', reseed({ epoch: 5 }), actsAsPrimary],
  }
  it.each(Object.entries(rows))('%s', (_, [name, order, given]) => {
    expect(() => checkOrder(name, order, stateOf(given ?? {}))).not.toThrow()
  })
})

describe('an agent refuses', () => {
  const rows: Readonly<Record<string, readonly [says: string, ...Row]>> = {
    'a restore once it has its place': ['it has its place in the cluster already', 'restore', restore({ epoch: 4 })],
    'a restore over data': ['it holds', 'restore', restore(), { ...emptyInstance, holds: held }],
    'a restore over what it does not know': [
      'what it holds is not known',
      'restore',
      restore(),
      { ...emptyInstance, holds: null },
    ],
    'a promise it acts on already': [
      'it acts on an assignment of epoch 5 already',
      'promise',
      promise(),
      { stored: { promise: 5, assignment: replica({ epoch: 5 }) } },
    ],
    'to lead an epoch in which it follows': ['it is a replica in that very epoch', 'assign', primary({ revision: 10 })],
    'to follow in the epoch it leads': [
      'it is the primary of that very epoch',
      'assign',
      replica({ revision: 10 }),
      actsAsPrimary,
    ],
    'an assignment of an older epoch than it acts on': [
      'it acts on epoch 6',
      'assign',
      replica({ epoch: 5, revision: 10 }),
      { stored: { promise: 5, assignment: replica({ epoch: 6 }) } },
    ],
    'an assignment while a seeding has not ended': [
      'a seeding has not ended',
      'assign',
      replica({ revision: 10 }),
      { stored: { seeding: true } },
    ],
    'to lead with its mysqld dead': [
      'mysqld is dead',
      'assign',
      primary({ epoch: 5, revision: 10 }),
      { process: 'dead' },
    ],
    'a demotion although it is no primary': ['it is no primary', 'demote', demote()],
    'a demotion from another epoch than its own': [
      'it is primary of epoch 4',
      'demote',
      demote({ epoch: 6 }),
      actsAsPrimary,
    ],
    'a demotion with its mysqld dead': ['mysqld is dead', 'demote', demote(), { ...actsAsPrimary, process: 'dead' }],
    'a fetch without that promise': ['it promised epoch 4', 'fetch', fetch()],
    'a fetch for a newer epoch than it promised': ['it promised epoch 5', 'fetch', fetch({ epoch: 6 }), stopped],
    'a fetch before it has stopped': [
      'it has not stopped under that promise',
      'fetch',
      fetch(),
      { stored: { promise: 5 } },
    ],
    'a fetch with its mysqld dead': ['mysqld is dead', 'fetch', fetch(), { ...stopped, process: 'dead' }],
    'to renounce when its agent has started again since': [
      'its incarnation is run-3, the order is for run-2',
      'renounce',
      { ...base, incarnation: 'run-2' },
      { stored: { incarnation: 'run-3' } },
    ],
    'other passwords as replica': ['it is no primary', 'passwords', passwords()],
    'other passwords of another epoch than it leads': [
      'it is primary of epoch 4',
      'passwords',
      passwords({ epoch: 5 }),
      actsAsPrimary,
    ],
    'other passwords with its mysqld dead': [
      'mysqld is dead',
      'passwords',
      passwords(),
      { ...actsAsPrimary, process: 'dead' },
    ],
    'to be seeded again as primary': ['it is the primary', 'reseed', reseed(), actsAsPrimary],
    'to be seeded again while it is in a replication group': [
      'it is still in its replication group',
      'reseed',
      reseed(),
      { ...uncounted, whyNotSeeded: say`it is still in its replication group` },
    ],
    'to be seeded again while it counts': ['it is counted in the sync set', 'reseed', reseed()],
    'to be seeded again when it holds something else': [
      'the order destroys',
      'reseed',
      reseed({ destroys: gtids('shop-0', 99) }),
      uncounted,
    ],
    'to be seeded again when it does not know what it holds': [
      'it holds something unknown',
      'reseed',
      reseed(),
      { ...uncounted, holds: null },
    ],
  }
  it.each(Object.entries(rows))('%s', (_, [says, name, order, given]) => {
    expect(errorOf(name, order, given)).toMatchObject({
      code: 'REGENT_ORDER_NOT_ALLOWED',
      message: expect.stringContaining(says) as string,
    })
  })
})

describe.each([
  ['promise', promise, {}],
  ['assign', replica, {}],
  ['assign', primary, actsAsPrimary],
  ['demote', demote, actsAsPrimary],
  ['fetch', fetch, stopped],
  ['reseed', reseed, uncounted],
] as const)('every order (%s)', (name, orderOf, given) => {
  const state = stateOf(given)

  it('is refused below the promised epoch', () => {
    const { stored } = state
    expect(errorOf(name, orderOf({ epoch: 6 }), { ...given, stored: { ...stored, promise: 7 } })).toMatchObject({
      code: 'REGENT_STALE_ORDER',
      message: expect.stringContaining('promised epoch 7') as string,
    })
  })

  it('is refused below the revision acted on', () => {
    expect(errorOf(name, orderOf({ revision: 8 }), given)).toMatchObject({
      code: 'REGENT_STALE_ORDER',
      message: expect.stringContaining('acted on revision 9') as string,
    })
  })

  it('is refused where it is for another instance, volume or cluster', () => {
    for (const more of [{ member: 'shop-2@v1' }, { member: 'shop-1@v2' }, { cluster: 'other' }]) {
      expect(errorOf(name, orderOf(more), given)).toMatchObject({ code: 'REGENT_WRONG_MEMBER' })
    }
  })
})

test('an assignment that was made for another start of the agent is refused, to lead as well as to follow', () => {
  const late = {
    code: 'REGENT_STALE_ORDER',
    message: 'assign was made for start run-1 of the agent of shop-1; this is run-2',
  }
  expect(errorOf('assign', replica({ run: 'run-1', revision: 10 }))).toMatchObject(late)
  expect(errorOf('assign', primary({ run: 'run-1', revision: 10 }), actsAsPrimary)).toMatchObject(late)
})

test('what is refused for its length is abbreviated', () => {
  const long = Array.from({ length: 200 }, (_, index) => `${index * 2 + 1}`).join(':')
  const error = errorOf('reseed', reseed({ destroys: `00000000-0000-0000-0000-000000000000:${long}` }), uncounted)
  expect(error?.message.length).toBeLessThan(400)
})

function errorOf(name: OrderName, order: Order, given: Given = {}): RegentError | undefined {
  try {
    checkOrder(name, order, stateOf(given))
    return undefined
  } catch (error) {
    if (error instanceof RegentError) return error
    throw error
  }
}
