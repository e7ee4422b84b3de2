import { describe, expect, it } from 'vitest'
import { gtids, uuidOf, type ViewOverrides } from '../topology/testing.ts'
import { decide } from './decide.ts'
import { aSituation, committed, ordersOf, shop1, type SituationOverrides } from './testing.ts'

/** shop-2 is not in the sync set and is told so. */
const outside = (more: ViewOverrides): ViewOverrides => ({
  ...more,
  stored: {
    assignment: { epoch: 1, revision: 1, role: 'replica', counted: false, fenced: false, source: 'shop-0' },
    ...more.stored,
  },
})

function decisionFor(view: ViewOverrides, given: SituationOverrides = {}) {
  return decide(
    aSituation({
      ...given,
      record: { syncSet: [shop1], ...given.record },
      views: {
        'shop-0': { server: { openGates: ['shop-1', 'shop-2'], ...given.views?.['shop-0']?.server } },
        ...given.views,
        'shop-2': outside(view),
      },
    }),
  )
}

const own = gtids('shop-0', 100)
const errant = { server: { executed: `${own},${gtids('shop-2', 3)}`, received: own } }

describe('an instance is seeded again', () => {
  const cases: Readonly<Record<string, readonly [says: string, view: ViewOverrides, given?: SituationOverrides]>> = {
    'when it has errant transactions': [
      `shop-2 has 3 errant transactions (${gtids('shop-2', 3)}); it is archived and seeded again from shop-1`,
      errant,
    ],
    'when it lacks what the primary purged': [
      'lacks transactions that the primary no longer has in its binlogs',
      { server: { executed: `${uuidOf('shop-0')}:1-40`, received: '', channel: { ioRunning: 'no' } } },
      { views: { 'shop-0': { server: { purged: `${uuidOf('shop-0')}:1-60` } } } },
    ],
    'when its GTIDs were reset by hand': [
      'has had its GTIDs reset by another hand (RESET BINARY LOGS AND GTIDS), so that nobody can tell what it holds',
      { stored: { forgetful: true, fromThePast: true, gtidsReset: true } },
    ],
    'when it had a replication filter': ['has had a replication filter', { stored: { filterSeen: true } }],
    'when it is empty and there is much to copy': [
      'is empty and lacks 100 transactions',
      { server: { executed: '', received: '', channel: null } },
      { spec: { cloneAboveTransactions: 50 } },
    ],
    'when an earlier seeding has not ended': [
      'began a seeding that has not ended',
      { process: 'dead', server: null, stored: { seeding: true } },
    ],
    'when an earlier seeding has not ended, and it never heard of this epoch': [
      'began a seeding that has not ended',
      { process: 'dead', server: null, stored: { seeding: true } },
      {
        record: { epoch: 2 },
        views: {
          'shop-0': {
            stored: {
              promise: 2,
              assignment: { epoch: 2, revision: 1, role: 'primary', counted: false, fenced: false, source: null },
            },
          },
          'shop-1': {
            stored: {
              promise: 2,
              assignment: { epoch: 2, revision: 1, role: 'replica', counted: true, fenced: false, source: 'shop-0' },
            },
          },
        },
      },
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [says, view, given]) => {
    const decision = decisionFor(view, given)
    expect(decision.sentence).toContain(says)
    expect(ordersOf(decision)[0]).toMatch(/^reseed shop-2 /)
  })

  it('also in the sync set, if it began to be before it heard that it joined: it holds nothing any more', () => {
    const seeding: ViewOverrides = { process: 'dead', server: null, stored: { seeding: true } }
    expect(
      ordersOf(
        decisionFor(seeding, {
          record: { syncSet: ['shop-2@volume-2'] },
          views: { 'shop-1': outside({ server: { channel: { ioRunning: 'connecting' } } }) },
        }),
      )[0],
    ).toMatch(/^reseed shop-2 /)
  })

  it('after a pause, and says so, where its agent refuses that for the same reason again and again', () => {
    const refused = (times: number, agoMs: number) => {
      const { nowMs } = aSituation({})
      return decisionFor(errant, {
        refused: new Map([['shop-2', { error: 'it holds A, the order destroys B', times, atMs: nowMs - agoMs }]]),
      })
    }
    const rests = refused(5, 100)
    expect(ordersOf(rests)).not.toContainEqual(expect.stringMatching(/^reseed/))
    expect(rests).toMatchObject({
      blocked: true,
      sentence: expect.stringContaining(
        'it is not seeded: its agent refused that 5 times (it holds A, the order destroys B), and is asked again after 10 s',
      ) as string,
    })
    expect(ordersOf(refused(5, 10_000))[0]).toMatch(/^reseed shop-2 /)
    expect(ordersOf(refused(4, 100))[0]).toMatch(/^reseed shop-2 /)
  })

  it('by an order that names exactly what it destroys', () => {
    const order = decisionFor(errant).actions.find((action) => action.kind === 'reseed')
    expect(order).toMatchObject({
      order: {
        destroys: `${own},${gtids('shop-2', 3)}`,
        sourceHolds: own,
        donor: { instance: 'shop-1' },
        source: { instance: 'shop-0' },
      },
    })
  })

  it('from the primary where the other replica has errant transactions itself, though it follows', () => {
    expect(
      decisionFor(errant, { views: { 'shop-1': { server: { executed: `${own},${gtids('shop-1', 2)}` } } } }).sentence,
    ).toContain('seeded again from shop-0')
  })

  it('from the primary where no other replica can give', () => {
    expect(
      decisionFor(errant, { views: { 'shop-1': { server: { channel: { ioRunning: 'no' } } } } }).sentence,
    ).toContain('seeded again from shop-0')
  })
})

describe('a primary that only waits for acknowledgements', () => {
  const unconnected: ViewOverrides = { reachable: false }
  const alone = new Map([['shop-1', 100]])
  const told = { epoch: 1, revision: 1, role: 'primary', counted: false, fenced: false, source: null } as const
  const gates = { openGates: ['shop-1', 'shop-2'] }
  const closed = { ...gates, readOnly: true, offlineMode: true }
  const situation = (primary: ViewOverrides, given: SituationOverrides = {}) => ({
    nowMs: 5_000,
    strayingSince: alone,
    ...given,
    views: { 'shop-1': unconnected, 'shop-0': { ...primary, server: { ...gates, ...primary.server } } },
  })
  const toPrimary = (given: SituationOverrides) =>
    decisionFor(errant, given).actions.find((action) => action.kind === 'assign' && action.to === 'shop-0')

  it('and is the only donor is closed first: a copy does not end while a write waits', () => {
    const decision = decisionFor(errant, situation({}))
    expect(decision.sentence).toContain('only shop-0 can be copied, and it closes first')
    expect(ordersOf(decision).filter((order) => order.startsWith('reseed'))).toEqual([])
    expect(toPrimary(situation({}))).toMatchObject({ order: { role: 'primary', donates: true } })
  })

  it('is copied once it is closed and nothing waits', () => {
    const donating = { stored: { assignment: { ...told, donates: true as const } } }
    expect(ordersOf(decisionFor(errant, situation({ ...donating, server: closed })))).toEqual(['reseed shop-2 1@1'])
    for (const waits of [
      { ...closed, owned: gtids('shop-0', 3) },
      { ...closed, semiSyncSource: { waiting: 1 } },
      { ...gates, offlineMode: true },
    ]) {
      expect(ordersOf(decisionFor(errant, situation({ ...donating, server: waits })))).toEqual([])
    }
  })

  it('stays closed while it is started again for that, and until the copy is made', () => {
    const donating = { stored: { assignment: { ...told, donates: true as const } } }
    expect(toPrimary(situation({ ...donating, process: 'dead', server: null }))).toMatchObject({
      order: { mayRestart: true, donates: true },
    })
    const copying = {
      ...errant,
      stored: { seeding: true },
      seedingProgress: { stage: 'file copy', percent: 3, donor: 'shop-0' },
    }
    expect(
      decisionFor(copying, situation({ ...donating, server: closed })).actions.find(
        (action) => action.kind === 'assign',
      ),
    ).toBeUndefined()
  })

  it('stays closed while the order to be seeded is under way, whatever the replica has received meanwhile', () => {
    const donating = { stored: { assignment: { ...told, donates: true as const } } }
    const given = situation(
      { ...donating, server: closed },
      { inFlight: new Map([['shop-2', { order: 'reseed', sinceMs: 4_900 }]]) },
    )
    expect(toPrimary(given)).toBeUndefined()
    expect(
      decisionFor({}, given).actions.find((action) => action.kind === 'assign' && action.to === 'shop-0'),
    ).toBeUndefined()
  })

  it('opens again when nobody is copied from it any more', () => {
    const donating = { stored: { assignment: { ...told, donates: true as const } } }
    const order = decisionFor(
      { server: { channel: { ioRunning: 'connecting' } } },
      situation({ ...donating, server: closed }),
    ).actions.find((action) => action.kind === 'assign' && action.to === 'shop-0')
    expect(order).toMatchObject({ order: { role: 'primary' } })
    expect(order).not.toHaveProperty('order.donates')
  })

  const staysOpen: Readonly<Record<string, SituationOverrides>> = {
    'while a replica that stopped following may be connecting again': { strayingSince: new Map([['shop-1', 4_000]]) },
    'when writes need no acknowledgement': { record: { acks: 0, acksWanted: 0 }, spec: { acks: 0 } },
    'when a person is to seed': { spec: { reseed: 'manual' } },
    'while the cluster is paused': { notes: { paused: { reason: 'maintenance', wallMs: 1 } } },
  }
  it.each(Object.entries(staysOpen))('stays open %s', (_, given) => {
    expect(toPrimary(situation({}, given))).toBeUndefined()
  })

  it('where durability is available, waits for no acknowledgement any more and is copied as it is', () => {
    const given = situation({}, { spec: { durability: 'available' } })
    expect(committed(decisionFor(errant, given))).toMatchObject({ acks: 0, acksWanted: 0 })
    const lowered = situation(
      {
        stored: { revision: 2, assignment: { ...told, revision: 2 } },
        converged: { revision: 2, done: true, sentence: '' },
      },
      { spec: { durability: 'available' }, record: { revision: 2, syncSet: [], acks: 0, acksWanted: 0 } },
    )
    const toldAgain = {
      ...errant,
      stored: { assignment: { ...outside({}).stored?.assignment, revision: 2 } },
    } as ViewOverrides
    expect(ordersOf(decisionFor(toldAgain, lowered))).toEqual(['reseed shop-2 1@2'])
  })

  it('lets in, for its copy, a replica that began to be seeded', () => {
    const seeding: ViewOverrides = {
      process: 'dead',
      server: null,
      stored: { seeding: true },
      converged: { revision: 0, done: false, sentence: '' },
    }
    expect(decisionFor(seeding, situation({})).actions.find((action) => action.kind === 'assign')).toMatchObject({
      order: { catchingUp: ['shop-2'] },
    })
  })
})

describe('a member that the sync set cannot spare', () => {
  const alone = {
    record: { syncSet: ['shop-2@volume-2'] },
    views: { 'shop-1': outside({ server: { channel: { ioRunning: 'connecting' } } }) },
  } as const
  const standsBy: ViewOverrides = {
    server: { ...errant.server, channel: { ioRunning: 'no' } },
    stored: { assignment: { epoch: 1, revision: 1, role: 'replica', counted: true, fenced: false, source: 'shop-0' } },
  }

  const closed = { readOnly: true, offlineMode: true, openGates: ['shop-1', 'shop-2'] }
  const donating = {
    stored: {
      assignment: {
        epoch: 1,
        revision: 1,
        role: 'primary',
        counted: false,
        fenced: false,
        source: null,
        donates: true,
      },
    },
  } as const
  const strayed = { nowMs: 9_000, strayingSince: new Map([['shop-2', 100]]) }

  it('is copied beside what it has, from the primary alone, once that is closed and nothing waits there', () => {
    const open = decisionFor(standsBy, { ...alone, ...strayed })
    expect(ordersOf(open).filter((order) => order.startsWith('reseed'))).toEqual([])
    expect(open.actions.find((action) => action.kind === 'assign' && action.to === 'shop-0')).toMatchObject({
      order: { role: 'primary', donates: true },
    })
    for (const waits of [
      { ...closed, owned: gtids('shop-0', 3) },
      { ...closed, semiSyncSource: { waiting: 1 } },
    ]) {
      expect(
        ordersOf(
          decisionFor(standsBy, {
            ...alone,
            ...strayed,
            views: { ...alone.views, 'shop-0': { ...donating, server: waits } },
          }),
        ),
      ).toEqual([])
    }
    const ready = decisionFor(standsBy, {
      ...alone,
      ...strayed,
      views: { ...alone.views, 'shop-0': { ...donating, server: closed } },
    })
    expect(ready.actions).toMatchObject([
      { kind: 'reseed', to: 'shop-2', order: { beside: true, donor: { instance: 'shop-0' }, sourceHolds: own } },
    ])
    expect(ready.sentence).toMatch(
      /^shop-2 has 3 errant transactions .*; the sync set cannot spare it: it is copied from shop-0 beside what it has$/,
    )
  })

  it('is told once more where it follows in spite of what is errant, as after a start of its agent, and then stands by', () => {
    const follows: ViewOverrides = { ...standsBy, server: { ...errant.server, channel: { ioRunning: 'yes' } } }
    const decision = decisionFor({ ...follows, converged: { revision: 1, done: true, sentence: '' } }, alone)
    expect(decision.actions.find((action) => action.kind === 'assign' && action.to === 'shop-2')).toMatchObject({
      order: { role: 'replica', counted: true, sourceHolds: own },
    })
    expect(
      decisionFor({ ...follows, converged: { revision: 1, done: false, sentence: '' } }, alone).actions.filter(
        (action) => action.kind === 'assign' && action.to === 'shop-2',
      ),
    ).toEqual([])
  })

  it('keeps the primary closed while it is copied, and is told nothing twice', () => {
    const copying: ViewOverrides = { ...standsBy, seedingProgress: { stage: 'file copy', percent: 3, donor: 'shop-0' } }
    const decision = decisionFor(copying, {
      ...alone,
      ...strayed,
      views: { ...alone.views, 'shop-0': { ...donating, server: closed } },
    })
    expect(decision.sentence).toContain('shop-2 is seeded from shop-0 (file copy)')
    expect(ordersOf(decision)).toEqual([])
  })

  it('is copied from nobody where the primary cannot be: it is said what a person can do', () => {
    const decision = decisionFor(standsBy, {
      ...alone,
      ...strayed,
      views: { ...alone.views, 'shop-0': { server: { foreignTables: ['app.legacy'] } } },
    })
    expect(ordersOf(decision).filter((order) => order.startsWith('reseed'))).toEqual([])
    expect(decision.sentence).toContain('What helps is another replica')
  })

  it('is not seeded where a person decides about that; it is said why, and what helps', () => {
    const decision = decisionFor(standsBy, { ...alone, spec: { reseed: 'manual' } })
    expect(ordersOf(decision).filter((order) => order.startsWith('reseed'))).toEqual([])
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
    expect(decision).toMatchObject({ blocked: true })
    expect(decision.sentence).toMatch(
      /^shop-2 has 3 errant transactions .* only it may hold what was acknowledged, and writes wait\. .*regent local scale shop 4/,
    )
  })

  it('is one of two that are both errant, too', () => {
    const decision = decisionFor(standsBy, {
      spec: { reseed: 'manual' },
      record: { syncSet: [shop1, 'shop-2@volume-2'], leaving: [shop1] },
      views: { 'shop-0': { markedRevision: 0 }, 'shop-1': { server: { channel: { ioRunning: 'no' } } } },
    })
    expect(decision.sentence).toContain('shop-2 has 3 errant transactions')
    expect(decision.sentence).toContain('What helps is another replica')
  })

  it('leaves it by the usual steps once another one counts', () => {
    expect(committed(decisionFor(standsBy, { record: { syncSet: [shop1, 'shop-2@volume-2'] } })).leaving).toEqual([
      'shop-2@volume-2',
    ])
  })
})

describe('tables that are not InnoDB', () => {
  const foreign = { foreignTables: ['app.legacy', 'app.log'] }

  it('keep an instance from being a donor', () => {
    const decision = decisionFor(errant, { views: { 'shop-1': { server: foreign } } })
    expect(decision.sentence).toContain('seeded again from shop-0')
  })

  it('on everybody who could give: nobody is seeded, and it is said which tables', () => {
    const decision = decisionFor(errant, { views: { 'shop-0': { server: foreign }, 'shop-1': { server: foreign } } })
    expect(ordersOf(decision).filter((order) => order.startsWith('reseed'))).toEqual([])
    expect(decision).toMatchObject({ blocked: true })
    expect(decision.sentence).toContain('it is not seeded: shop-0 has tables that are not InnoDB (app.legacy, app.log)')
  })
})

describe('an instance is left alone', () => {
  const cases: Readonly<Record<string, readonly [view: ViewOverrides, given?: SituationOverrides]>> = {
    'while its agent is copying: the order would arrive when the copy is made': [
      { ...errant, stored: { seeding: true }, seedingProgress: { stage: 'swapping', percent: 100, donor: 'shop-1' } },
    ],
    'while it is in the sync set': [errant, { record: { syncSet: [shop1, 'shop-2@volume-2'] } }],
    'when it is empty and there is little to copy': [{ server: { executed: '', received: '' } }],
    'while its server does not answer': [{ ...errant, silentMs: 5_000 }],
    'while an order to it is under way': [
      errant,
      { inFlight: new Map([['shop-2', { order: 'reseed', sinceMs: 1_000 }]]) },
    ],
    'before it was told of this epoch': [
      {
        ...errant,
        stored: {
          assignment: { epoch: 0, revision: 1, role: 'replica', counted: false, fenced: false, source: 'shop-0' },
        },
      },
    ],
    'before it was told that it no longer counts: its agent would refuse': [
      {
        ...errant,
        stored: {
          assignment: { epoch: 1, revision: 1, role: 'replica', counted: true, fenced: false, source: 'shop-0' },
        },
      },
    ],
    'before it was told of this revision': [
      errant,
      {
        record: { revision: 2 },
        views: { 'shop-0': { stored: { revision: 2 }, converged: { revision: 2, done: true, sentence: '' } } },
      },
    ],
    'while another one is being told to, perhaps by the same donor': [
      errant,
      { inFlight: new Map([['shop-3', { order: 'reseed', sinceMs: 1_000 }]]) },
    ],
    'when a person wants to do that': [errant, { spec: { reseed: 'manual' } }],
  }
  it.each(Object.entries(cases))('%s', (_, [view, given]) => {
    expect(ordersOf(decisionFor(view, given)).filter((order) => order.startsWith('reseed'))).toEqual([])
  })

  it('by the sync set too, while it is being told to give up what it has', () => {
    expect(committed(decisionFor({})).syncSet).toContain('shop-2@volume-2')
    expect(
      decisionFor({}, { inFlight: new Map([['shop-2', { order: 'reseed', sinceMs: 1_000 }]]) }).actions.filter(
        ({ kind }) => kind === 'commit',
      ),
    ).toEqual([])
  })

  const waits: ViewOverrides = {
    server: { executed: '', received: '', channel: null },
    stored: {
      assignment: {
        epoch: 1,
        revision: 1,
        role: 'replica',
        counted: false,
        fenced: false,
        source: 'shop-0',
        sourceReady: false,
      },
    },
  }

  it('while the cluster is paused, and it is said that it waits for its copy', () => {
    const decision = decisionFor(waits, {
      spec: { cloneAboveTransactions: 50 },
      notes: { paused: { reason: 'maintenance', wallMs: 1 } },
    })
    expect(ordersOf(decision)).toEqual([])
    expect(decision.sentence).toMatch(
      /^paused: maintenance; .*; shop-2 is to be copied from another instance once the cluster is resumed$/,
    )
  })

  it('while another one is copied, and it is said that it waits', () => {
    const copying: ViewOverrides = {
      ...waits,
      stored: { ...waits.stored, seeding: true },
      seedingProgress: { stage: 'file copy', percent: 3, donor: 'shop-0' },
    }
    const decision = decisionFor(waits, {
      shape: { instances: 4 },
      spec: { cloneAboveTransactions: 50 },
      views: { 'shop-3': copying },
    })
    expect(decision.sentence).toBe(
      'shop-3 is seeded from shop-0 (file copy); shop-2 is to be copied from another instance',
    )
  })

  it('while it is to go, and nobody is told that it waits for a copy', () => {
    const decision = decisionFor({ ...waits, terminating: true }, { spec: { cloneAboveTransactions: 50 } })
    expect(ordersOf(decision).filter((order) => order.startsWith('reseed'))).toEqual([])
    expect(decision.sentence).not.toContain('to be copied')
  })

  it('and it says so where the policy is manual', () => {
    const decision = decisionFor(errant, { spec: { reseed: 'manual' } })
    expect(decision).toMatchObject({ blocked: true })
    expect(decision.sentence).toContain('policy is manual: it is left as it is')
  })
})
