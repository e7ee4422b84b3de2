import { describe, expect, it, test } from 'vitest'
import { gtids, uuidOf, type ViewOverrides } from '#topology/testing.ts'
import { liveView } from '../judge/situation.ts'
import { syncSetShortfall, syncSetStep } from './sync-set.ts'
import { aSituation, committed, namesOf, shop0, shop1, shop2, type SituationOverrides } from '../testing.ts'

/** Revision of every record in these tests. */
const revision = 5

const primary = (more: ViewOverrides = {}): ViewOverrides => ({
  ...more,
  stored: { revision, ...more.stored },
  converged: { revision, done: true, sentence: '' },
})
const replica = (counted: boolean, more: ViewOverrides = {}): ViewOverrides => ({
  ...more,
  converged: more.converged ?? { revision, done: true, sentence: '' },
  stored: {
    revision,
    assignment: { epoch: 1, revision, role: 'replica', counted, fenced: false, source: 'shop-0' },
    ...more.stored,
  },
})

function given({ record, views, ...more }: SituationOverrides) {
  const situation = aSituation({
    ...more,
    record: { revision, ...record },
    views: {
      ...views,
      'shop-0': primary({ markedRevision: 4, ...views?.['shop-0'] }),
      'shop-1': replica(true, views?.['shop-1']),
      'shop-2': replica(true, views?.['shop-2']),
    },
  })
  const leader = liveView(situation.snapshot, shop0)
  if (leader === undefined) throw new Error('the primary is not heard')
  return { situation, step: syncSetStep(situation, leader) }
}

const marked = { markedRevision: revision }
const gone = { server: { channel: { ioRunning: 'connecting' } } } as const
const justJoined = {
  stored: { assignment: { epoch: 1, revision: 4, role: 'replica', counted: false, fenced: false, source: 'shop-0' } },
} as const
/** Its agent says where its binlogs end. */
const placed: ViewOverrides = { server: { binlogPosition: 5_000 } }
const longAgo = new Map([['shop-2', -5_000]])
const errant: ViewOverrides = { server: { executed: `${gtids('shop-0', 100)},${gtids('shop-2', 1)}` } }
const unasked = { question: 0, lacks: {} }
/** It lacks what the primary wrote last, and what waits there. */
const ahead: ViewOverrides = { server: { executed: gtids('shop-0', 100), owned: `${uuidOf('shop-0')}:101` } }
const caughtUp: ViewOverrides = { server: { received: gtids('shop-0', 101) } }
const two = { spec: { acks: 2 } }
/** `shop-2` is lost while k is raised. */
const half: SituationOverrides = {
  record: { acks: 1, acksWanted: 2 },
  strayingSince: longAgo,
  views: { 'shop-2': gone },
}
/** `shop-1` lives on another volume and counts twice; `shop-2` must be copied, and the others cannot be k. */
const oldShop1 = 'shop-1@old'
const unspared: SituationOverrides = {
  ...two,
  record: { syncSet: [shop2, oldShop1, shop1], acks: 2 },
  views: { 'shop-2': { ...gone, ...errant } },
}

describe('the next change of the record', () => {
  const cases: Readonly<
    Record<string, readonly [given: SituationOverrides, becomes: Readonly<Record<string, unknown>>, says: string]>
  > = {
    'lets a follower into the sync set': [
      { record: { syncSet: [shop1] } },
      { syncSet: [shop1, shop2], acks: 1 },
      'shop-2 follows and joins',
    ],
    'lets a member in that completes k, once k hold everything, also what waits': [
      {
        ...two,
        record: { syncSet: [shop1], acks: 2 },
        views: { 'shop-0': ahead, 'shop-1': caughtUp, 'shop-2': caughtUp },
      },
      { syncSet: [shop1, shop2] },
      'shop-2 follows and joins',
    ],
    'lets a member in without proof while S stays smaller than k': [
      { ...two, record: { syncSet: [], acks: 2 }, views: { 'shop-0': ahead } },
      { syncSet: [shop1] },
      'shop-1 follows and joins',
    ],
    'begins to remove a member that does not follow': [
      { strayingSince: longAgo, views: { 'shop-2': gone } },
      { syncSet: [shop1, shop2], leaving: [shop2] },
      'shop-2 does not follow',
    ],
    'begins to remove a forgetful member': [
      { views: { 'shop-2': { stored: { forgetful: true } } } },
      { leaving: [shop2] },
      'shop-2 is to leave',
    ],
    'begins to remove a member that saw a replication filter': [
      { views: { 'shop-2': { stored: { filterSeen: true } } } },
      { leaving: [shop2] },
      'shop-2 is to leave',
    ],
    'begins to remove a member that was open for writes': [
      { views: { 'shop-2': { stored: { opened: true } } } },
      { leaving: [shop2] },
      'shop-2 is to leave',
    ],
    'begins to remove a member with errant transactions': [
      { views: { 'shop-2': errant } },
      { leaving: [shop2] },
      'shop-2 is to leave',
    ],
    'begins to remove a member that was passed over, although it follows': [
      { passedOver: new Map([['shop-2', gtids('shop-0', 2)]]) },
      { leaving: [shop2] },
      'shop-2 is to leave',
    ],
    'lets a follower in that was shown to lack nothing that was sent already': [
      {
        record: { syncSet: [shop1] },
        views: { 'shop-0': placed, 'shop-2': { server: { channel: { hasRead: { file: 7, position: 1 } } } } },
        passedOver: new Map([['shop-2', '']]),
      },
      { syncSet: [shop1, shop2], acks: 1 },
      'shop-2 follows and joins',
    ],
    'begins to remove a member whose volume is another one': [
      { views: { 'shop-2': { ...gone, member: 'shop-2@other' } } },
      { leaving: [shop2] },
      'shop-2 is to leave',
    ],
    'begins to remove a member whose instance does not exist': [
      { shape: { instances: 2 }, record: { syncSet: [shop1, shop2] } },
      { leaving: [shop2] },
      'shop-2 is to leave',
    ],
    'begins to remove a member that can never hold everything while S is smaller than k': [
      {
        ...two,
        record: { syncSet: [shop2], acks: 2 },
        views: {
          'shop-2': { ...gone, member: 'shop-2@other' },
          'shop-1': { server: { executed: '', received: '' } },
          'shop-0': { server: { executed: gtids('shop-0', 5_000) } },
        },
      },
      { syncSet: [shop2], leaving: [shop2] },
      'shop-2 is to leave',
    ],
    'drops a leaver without a marker while S is smaller than k': [
      {
        ...two,
        record: { syncSet: [shop2], acks: 2, leaving: [shop2] },
        views: { 'shop-2': { ...gone, member: 'shop-2@other' } },
      },
      { syncSet: [], leaving: [] },
      'nothing is acknowledged until so many hold everything',
    ],
    'begins to remove a member that is to go': [
      { notes: { instances: 2 } },
      { leaving: [shop2] },
      'shop-2 is to leave',
    ],
    'begins to remove a member that is to go and acknowledges nothing any more, whoever else does': [
      { notes: { instances: 2 }, views: { 'shop-1': gone, 'shop-2': gone } },
      { leaving: [shop2] },
      'shop-2 is to leave',
    ],
    'begins to remove a doubtful member that is to go at once': [
      { notes: { instances: 2 }, views: { 'shop-1': justJoined, 'shop-2': { stored: { forgetful: true } } } },
      { leaving: [shop2] },
      'shop-2 is to leave',
    ],
    'begins to remove another one that must leave while one that is to go is needed': [
      {
        notes: { instances: 2 },
        record: { syncSet: [shop2, shop1] },
        views: { 'shop-1': { ...errant, server: { ...errant.server, ...gone.server } } },
      },
      { leaving: [shop1] },
      'shop-1 is to leave',
    ],
    'begins to remove a member that is to go while S is smaller than k, whatever it acknowledges': [
      {
        ...two,
        notes: { instances: 2 },
        record: { syncSet: [shop2], acks: 2 },
        views: { 'shop-0': ahead, 'shop-1': gone },
      },
      { leaving: [shop2] },
      'shop-2 is to leave',
    ],
    'drops a leaver once a marker was acknowledged without it': [
      { record: { leaving: [shop2] }, views: { 'shop-0': marked, 'shop-2': gone } },
      { syncSet: [shop1], leaving: [] },
      'shop-2 left the sync set',
    ],
    'keeps a leaver that follows again': [
      { record: { leaving: [shop2] }, views: { 'shop-0': marked } },
      { syncSet: [shop1, shop2], leaving: [] },
      'shop-2 follows again',
    ],
    'raises k first at the primary': [{ ...two }, { acks: 1, acksWanted: 2 }, 'the primary waits for 2'],
    'raises k in the record once a marker was acknowledged by so many': [
      { ...two, record: { acks: 1, acksWanted: 2 }, views: { 'shop-0': marked } },
      { acks: 2, acksWanted: 2 },
      'writes now need 2',
    ],
    'takes the raise of k back where too few can acknowledge so many, with durability available': [
      { ...two, ...half, spec: { acks: 2, durability: 'available' } },
      { acks: 1, acksWanted: 1 },
      'the primary waits for one acknowledgement again',
    ],
    'takes the raise of k back where too few can acknowledge so many, which are wanted no more': [
      half,
      { acks: 1, acksWanted: 1 },
      'the primary waits for one acknowledgement again',
    ],
    'lowers k where so many are wanted no more': [
      { record: { acks: 2 } },
      { acks: 1, acksWanted: 1 },
      'writes now need one acknowledgement',
    ],
    'lowers k with S smaller than k once so many hold everything': [
      { record: { syncSet: [shop1], acks: 2 }, views: { 'shop-0': ahead, 'shop-1': caughtUp, 'shop-2': gone } },
      { acks: 1 },
      'writes now need one acknowledgement',
    ],
    'begins to remove who lost its volume before one that is brought back by a copy, where the others cannot be k': [
      unspared,
      { leaving: [oldShop1] },
      'shop-1 is to leave',
    ],
    'keeps a leaver that must be copied, where too few others could acknowledge the marker of its leaving': [
      { ...unspared, record: { ...unspared.record, leaving: [shop2] } },
      { syncSet: [shop2, oldShop1, shop1], leaving: [] },
      'shop-2 cannot be spared and stays in the sync set',
    ],
    'keeps a leaver that must be copied, where the only other one has not followed for long': [
      {
        record: { leaving: [shop2] },
        strayingSince: new Map([['shop-1', -5_000]]),
        views: { 'shop-1': gone, 'shop-2': { ...gone, ...errant } },
      },
      { leaving: [] },
      'shop-2 cannot be spared and stays in the sync set',
    ],
    'lowers k with durability available, loudly': [
      {
        spec: { durability: 'available' },
        record: { syncSet: [shop2] },
        strayingSince: longAgo,
        views: { 'shop-1': gone, 'shop-2': gone },
      },
      { acks: 0, acksWanted: 0 },
      'durability available: fewer than wanted',
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [situation, becomes, says]) => {
    const { step } = given(situation)
    if (step === undefined) throw new Error('nothing is to be done')
    expect(committed(step)).toMatchObject({ epoch: 1, revision: revision + 1, primary: shop0, ...becomes })
    expect(String(step.sentence)).toContain(says)
  })
})

describe('nothing changes', () => {
  const cases: Readonly<Record<string, SituationOverrides>> = {
    'while all is as it should be': {},
    'for a member that would complete k before k hold what waits': {
      ...two,
      record: { syncSet: [shop1], acks: 2 },
      views: { 'shop-0': ahead, 'shop-1': caughtUp },
    },
    'for a replica that has not stored this revision': {
      record: { syncSet: [shop1] },
      views: {
        'shop-2': {
          stored: {
            assignment: { epoch: 1, revision: 4, role: 'replica', counted: false, fenced: false, source: 'shop-0' },
          },
        },
      },
    },
    'for a replica that has not done yet what it was told, whatever its channel showed before': {
      record: { syncSet: [shop1] },
      views: { 'shop-2': { converged: { revision, done: false, sentence: '' } } },
    },
    'for a replica that has done what an older revision told it': {
      record: { syncSet: [shop1] },
      views: { 'shop-2': { converged: { revision: 4, done: true, sentence: '' } } },
    },
    'for a replica that is far behind': {
      record: { syncSet: [shop1] },
      views: {
        'shop-2': { server: { executed: '', received: '' } },
        'shop-0': { server: { executed: gtids('shop-0', 5_000) } },
        'shop-1': { server: { received: gtids('shop-0', 5_000) } },
      },
    },
    'for a replica that holds what its primary was not seen to hold, and was not asked about yet': {
      record: { syncSet: [shop1] },
      views: { 'shop-0': { compared: unasked }, 'shop-2': errant },
    },
    'for a replica that is just told to give up what it has': {
      record: { syncSet: [shop1] },
      inFlight: new Map([['shop-2', { order: 'reseed', sinceMs: 900 }]]),
    },
    'for a replica with errant transactions': { record: { syncSet: [shop1] }, views: { 'shop-2': errant } },
    'for a replica that was not shown yet to lack nothing that was sent already': {
      record: { syncSet: [shop1] },
      views: { 'shop-0': placed, 'shop-2': { server: { channel: { hasRead: null } } } },
    },
    'for a replica that was passed over, however little it lacks': {
      record: { syncSet: [shop1] },
      views: { 'shop-0': placed, 'shop-2': { server: { channel: { hasRead: { file: 7, position: 9_000 } } } } },
      passedOver: new Map([['shop-2', gtids('shop-0', 1)]]),
    },
    'for a forgetful replica': { record: { syncSet: [shop1] }, views: { 'shop-2': { stored: { forgetful: true } } } },
    'for a replica that follows in an older epoch': {
      record: { syncSet: [shop1], epoch: 1 },
      views: {
        'shop-2': {
          stored: {
            assignment: { epoch: 0, revision, role: 'replica', counted: false, fenced: false, source: 'shop-0' },
          },
        },
      },
    },
    'for a member that strays for a moment': { strayingSince: new Map([['shop-2', 1_000]]), views: { 'shop-2': gone } },
    'for a strayed member that S cannot spare': {
      record: { syncSet: [shop2] },
      strayingSince: longAgo,
      views: { 'shop-1': gone, 'shop-2': gone },
    },
    'for a strayed member while S is smaller than k: it may come back with what it holds': {
      ...two,
      record: { syncSet: [shop2], acks: 2 },
      strayingSince: longAgo,
      views: { 'shop-1': gone, 'shop-2': gone },
    },
    'for a strayed member while k is being raised': { ...two, ...half },
    'for a leaver before the marker': { record: { leaving: [shop2] }, views: { 'shop-2': gone } },
    'for a member that is to go while writes live on it: who has just joined has not been told to acknowledge': {
      notes: { instances: 2 },
      views: { 'shop-1': justJoined },
    },
    'for a member that is to go while k is being raised and needs it': {
      spec: { acks: 2 },
      notes: { instances: 2 },
      record: { acks: 1, acksWanted: 2 },
    },
    'for a member that is to go while who was told to acknowledge is connecting': {
      notes: { instances: 2 },
      views: { 'shop-1': gone },
    },
    'for a member that is to go while who was told to acknowledge is still connected as one that does not': {
      notes: { instances: 2 },
      views: { 'shop-1': { server: { channel: { semiSync: false } } } },
    },
    'for a raise of k before the marker': { ...two, record: { acks: 1, acksWanted: 2 } },
    'for k while too few are healthy to raise it': {
      ...two,
      strayingSince: new Map([['shop-2', 1_000]]),
      views: { 'shop-2': gone },
    },
    'for k with S smaller than k before so many hold everything': {
      record: { syncSet: [shop1], acks: 2 },
      views: { 'shop-0': ahead, 'shop-2': gone },
    },
    'for a member that must be copied, while the only other one does not follow': {
      views: { 'shop-1': gone, 'shop-2': errant },
    },
    'for a leaver that must be copied, while the only other one is perhaps just connecting again': {
      record: { leaving: [shop2] },
      strayingSince: new Map([['shop-1', 1_000]]),
      views: { 'shop-1': gone, 'shop-2': { ...gone, ...errant } },
    },
    'for k with durability strict': {
      record: { syncSet: [shop2] },
      strayingSince: longAgo,
      views: { 'shop-1': gone, 'shop-2': gone },
    },
    'for k with durability available while a member only reconnects': {
      spec: { durability: 'available' },
      strayingSince: new Map([
        ['shop-1', 1_000],
        ['shop-2', 1_000],
      ]),
      views: { 'shop-1': gone, 'shop-2': gone },
    },
  }
  it.each(Object.entries(cases))('%s', (_, situation) => {
    expect(given(situation).step).toBeUndefined()
  })
})

test('of two members of one instance the older leaves, also for a manager that still sees the old volume', () => {
  const twice: SituationOverrides = { record: { syncSet: [shop1, shop2, 'shop-2@new'] } }
  for (const views of [{}, { 'shop-2': { member: 'shop-2@new' } }] as const) {
    const { step } = given({ ...twice, views: { ...views } })
    expect(step === undefined ? [] : committed(step).leaving).toEqual('shop-2' in views ? [shop2] : [])
  }
  const before = {
    stored: { assignment: { epoch: 1, revision: 4, role: 'replica', counted: true, fenced: false, source: 'shop-0' } },
  } as const
  const { step } = given({ ...twice, record: { syncSet: [shop1, 'shop-2@new'] }, views: { 'shop-2': before } })
  expect(step && committed(step).leaving).toEqual(['shop-2@new'])
})

test('one member leaves at a time', () => {
  const { step } = given({
    shape: { instances: 3 },
    record: { acks: 0 },
    spec: { acks: 0 },
    views: { 'shop-1': { stored: { forgetful: true } }, 'shop-2': { stored: { forgetful: true } } },
  })
  expect(step && namesOf(committed(step).leaving)).toBe('shop-1')
})

test.each([
  [{}, /^$/],
  [{ record: { acks: 0, syncSet: [] }, spec: { mode: 'async', acks: 0 } }, /^$/],
  [
    {
      strayingSince: new Map([
        ['shop-1', 1],
        ['shop-2', 1],
      ]),
    },
    /^writes wait: .* needed and no replica can give one$/,
  ],
  [{ ...two, ...half }, /^writes wait: 2 acknowledgements are needed and only shop-1 can give one$/],
  [{ strayingSince: new Map([['shop-1', 1]]) }, /^the loss of shop-2 would make writes wait$/],
  [{ spec: { acks: 2 } }, /^writes need .* instead of /],
  [{ record: { acks: 0 }, spec: { acks: 0 } }, /^not protected/],
] as const)('what is missing is said: %j', (situation, says) => {
  expect(String(syncSetShortfall(aSituation(situation as SituationOverrides)))).toMatch(says)
})
