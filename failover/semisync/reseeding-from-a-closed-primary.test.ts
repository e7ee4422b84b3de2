import { describe, expect, it } from 'vitest'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { decisionFor, errant, outside, own } from './testing-reseeding.ts'
import { withConsent } from '../judge/seeding/reseed-consent.ts'
import { aSituation, committed, ordersOf, shop1, shop2, type SituationOverrides } from '../testing.ts'

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

  it('is not closed for one whose agent keeps refusing to be seeded', () => {
    const refused = new Map([['shop-2', { error: 'cannot be archived', times: 5, atMs: 4_000 }]])
    const decision = decisionFor(errant, situation({}, { refused }))
    expect(decision.sentence).toContain('it is not seeded: its agent refused that 5 times (cannot be archived)')
    expect(toPrimary(situation({}, { refused }))).toBeUndefined()
  })

  it('and is the only donor is closed first also for one that a person gave up', () => {
    const notes = withConsent(aSituation().notes, 'shop-2', aSituation().wallMs)
    const decision = decisionFor(errant, situation({}, { notes, spec: { reseed: 'manual' } }))
    expect(decision.sentence).toContain('only shop-0 can be copied, and it closes first')
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

  it('and counts one alone that was passed over is closed for its copy, which is made beside what that one has', () => {
    const counted = { epoch: 1, revision: 1, role: 'replica', counted: true, fenced: false, source: 'shop-0' } as const
    const donating = { stored: { assignment: { ...told, donates: true as const } } }
    const given = (primary: ViewOverrides): SituationOverrides => ({
      ...situation(primary),
      strayingSince: new Map(),
      record: { syncSet: [shop2] },
      passedOver: new Map([['shop-2', gtids('shop-0', 2)]]),
    })
    const replica = { stored: { assignment: counted } }
    expect(decisionFor(replica, given({})).sentence).toContain('only shop-0 can be copied, and it closes first')
    const closing = decisionFor(replica, given({})).actions.find(
      (action) => action.kind === 'assign' && action.to === 'shop-0',
    )
    expect(closing).toMatchObject({ order: { donates: true } })
    const order = decisionFor(replica, given({ ...donating, server: closed })).actions.find(
      ({ kind }) => kind === 'reseed',
    )
    expect(order).toMatchObject({ to: 'shop-2', order: { beside: true, donor: { instance: 'shop-0' } } })
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

  it.each<[string, ViewOverrides]>([
    ['has errant transactions', { server: errant.server, errantTold: gtids('shop-2', 3) }],
    ['cannot apply what it receives', { server: { channel: { sqlRunning: false, sqlError: 'Error 1146' } } }],
  ])('is not copied as long as it acknowledges, and nothing is closed for it: it %s', (why, view) => {
    const decision = decisionFor({ ...standsBy, ...view }, { ...alone, ...strayed })
    expect(ordersOf(decision).filter((order) => /^reseed|^primary/.test(order))).toEqual([])
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
    expect(decision).toMatchObject({ blocked: true })
    expect(decision.sentence).toContain(why.replace('has errant', 'has 3 errant'))
    expect(decision.sentence).toMatch(/ and goes on acknowledging: too few others can\. .*regent local scale shop 4/)
  })

  it.each([
    ['its disk is full', "The table 't' is full, Error_code: 1114", false],
    ['somebody holds a lock there', 'Lock wait timeout exceeded, Error_code: 1205', false],
    ['a hand killed its thread', 'Query execution was interrupted, Error_code: 1317', false],
    ['it lacks a row', "Can't find record in 't', Error_code: 1032", true],
  ])('is copied for what its applier stopped at only where that does not pass: %s', (_, sqlError, isCopied) => {
    const view: ViewOverrides = { server: { channel: { sqlRunning: false, sqlError } } }
    const decision = decisionFor(view, strayed)
    expect(decision.actions.some(({ kind }) => kind === 'reseed')).toBe(isCopied)
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
    expect(decision.sentence).toContain('Add a replica')
  })

  it('is not seeded where a person decides about that; it is said why, and what helps', () => {
    const decision = decisionFor(standsBy, { ...alone, spec: { reseed: 'manual' } })
    expect(ordersOf(decision).filter((order) => order.startsWith('reseed'))).toEqual([])
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
    expect(decision).toMatchObject({ blocked: true })
    expect(decision.sentence).toMatch(
      /^shop-2 has 3 errant transactions .* only it may hold the last writes, and writes wait\. .*regent local scale shop 4/,
    )
  })

  it('is one of two that are both errant, too', () => {
    const decision = decisionFor(standsBy, {
      spec: { reseed: 'manual' },
      record: { syncSet: [shop1, 'shop-2@volume-2'], leaving: [shop1] },
      views: { 'shop-0': { markedRevision: 0 }, 'shop-1': { server: { channel: { ioRunning: 'no' } } } },
    })
    expect(decision.sentence).toContain('shop-2 has 3 errant transactions')
    expect(decision.sentence).toContain('Add a replica')
  })

  it('leaves it by the usual steps once another one counts', () => {
    expect(committed(decisionFor(standsBy, { record: { syncSet: [shop1, 'shop-2@volume-2'] } })).leaving).toEqual([
      'shop-2@volume-2',
    ])
  })
})
