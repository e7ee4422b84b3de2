import { describe, expect, it } from 'vitest'
import { gtids, uuidOf, type ViewOverrides } from '#topology/testing.ts'
import { decisionFor, errant, outside, own } from './testing-reseeding.ts'
import { consentMs, withConsent } from '../judge/seeding/reseed-consent.ts'
import { aSituation, committed, ordersOf, shop1, shop2, uncounted, type SituationOverrides } from '../testing.ts'

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
    'when it was passed over': [
      `shop-2 was passed over: it has received what came after 2 transactions that it lacks (${uuidOf('shop-0')}:41-42)`,
      {},
      { passedOver: new Map([['shop-2', `${uuidOf('shop-0')}:41-42`]]) },
    ],
    'when it was open for writes': [
      'was open for writes while it was no primary, so that nobody can tell whether its data are those of the primary',
      { stored: { opened: true } },
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

  it('names the command by which a person gives up what nobody can archive', () => {
    const error = 'shop-2: 1111:1-5 cannot be archived: not in its binlogs (5 of 5 transactions)'
    const { nowMs } = aSituation({})
    const rests = decisionFor(errant, { refused: new Map([['shop-2', { error, times: 5, atMs: nowMs }]]) })
    expect(rests.sentence).toContain(
      'only a person can give them up, with all that is on its volume: regent replace shop-2 --accept-loss',
    )
  })

  describe('though another one waits for a person', () => {
    const seeded = (given: SituationOverrides) =>
      ordersOf(decisionFor(errant, given)).filter((order) => order.startsWith('reseed'))
    const others: SituationOverrides = {
      shape: { instances: 4 },
      views: { 'shop-3': outside({ server: { executed: `${own},${gtids('shop-3', 1)}`, received: own } }) },
    }

    it('as its agent keeps refusing', () => {
      const { nowMs } = aSituation({})
      const error = 'shop-2: 1111:1-5 cannot be archived: not in its binlogs (5 of 5 transactions)'
      const refused = new Map([['shop-2', { error, times: 5, atMs: nowMs }]])
      expect(seeded({ ...others, refused })).toEqual(['reseed shop-3 1@1'])
    })

    it('who said that of this one alone', () => {
      const notes = withConsent(aSituation().notes, 'shop-3', aSituation().wallMs)
      expect(seeded({ ...others, spec: { reseed: 'manual' }, notes })).toEqual(['reseed shop-3 1@1'])
    })
  })

  describe('where every replica lacks the same, which is in no binlog of the primary', () => {
    const lacking = gtids('shop-3', 7)
    const all = new Map([
      ['shop-1', lacking],
      ['shop-2', lacking],
    ])
    const counted = { epoch: 1, revision: 1, role: 'replica', counted: true, fenced: false, source: 'shop-0' } as const

    it('from the primary, which stays open: the other one acknowledges', () => {
      const decision = decisionFor({}, { passedOver: all })
      expect(decision.sentence).toContain('it is archived and seeded again from shop-0')
      expect(ordersOf(decision)).toEqual([expect.stringMatching(/^reseed shop-2 /)])
    })

    it('after it has left the sync set: it holds nothing that the other one lacks', () => {
      const both = decisionFor(
        { stored: { assignment: counted } },
        { passedOver: all, record: { syncSet: [shop1, shop2] } },
      )
      expect(committed(both)).toMatchObject({ leaving: [expect.stringMatching(/^shop-[12]@/)] })
      expect(both.actions.some((action) => action.kind === 'assign' && action.to === 'shop-0')).toBe(false)
    })

    it('and not at once, while the first leaves: the other one waits for that, and the primary is not closed', () => {
      const leaving = decisionFor(
        { stored: { assignment: counted } },
        {
          passedOver: all,
          record: { syncSet: [shop1, shop2], leaving: [shop1] },
          views: { 'shop-0': { markedRevision: 0, server: { openGates: ['shop-1', 'shop-2'] } } },
        },
      )
      expect(leaving.sentence).not.toContain('only shop-0 can be copied')
      expect(leaving.sentence).not.toContain('cannot be spared')
      expect(JSON.stringify(leaving.actions)).not.toContain('donates')
    })
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
      assignment: { ...uncounted, sourceReady: false },
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
    expect(decision.sentence).toContain('it is left as it is until you say regent reseed shop-2')
  })

  it('until a person says so, which counts for ten minutes', () => {
    const ordersAfter = (ms: number) => {
      const notes = withConsent(aSituation().notes, 'shop-2', aSituation().wallMs - ms)
      return ordersOf(decisionFor(errant, { spec: { reseed: 'manual' }, notes }))
    }
    expect(ordersAfter(consentMs - 1)).toEqual([expect.stringMatching(/^reseed shop-2 /)])
    expect(ordersAfter(consentMs)).toEqual([])
  })
})
