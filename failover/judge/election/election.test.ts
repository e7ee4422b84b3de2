import { describe, expect, it } from 'vitest'
import type { ViewOverrides } from '#topology/testing.ts'
import { revocation } from './durability.ts'
import { elect, preferredOf, type Election } from './election.ts'
import {
  aSituation,
  deadServer,
  promised,
  promisedAsPrimary,
  shop1,
  shop2,
  type SituationOverrides,
  never,
} from '#failover/testing.ts'
import { instanceOf } from '#topology/snapshot/member.ts'

function electionOf(given: SituationOverrides, wishes: { to?: string; leaving?: readonly string[] } = {}): Election {
  const situation = aSituation({
    ...given,
    views: { 'shop-0': deadServer, 'shop-1': promised(), 'shop-2': promised(), ...given.views },
  })
  const revoked = revocation(situation, 2)
  return elect(situation, revoked.promised, revoked.union, { to: wishes.to ?? null, leaving: wishes.leaving ?? [] })
}

function winnerOf(election: Election): string | null {
  return election.winner && instanceOf(election.winner.member)
}

const behind = (backlogTransactions: number): ViewOverrides =>
  promised(100, { server: { channel: { backlogTransactions } } })
const delayed = promised(100, {
  server: { channel: { changedOptions: [{ name: 'SOURCE_DELAY', seen: '600', wanted: '0' }] } },
})
const of = (version: string, last = 100): ViewOverrides => promised(last, { server: { version } })
const prefer = { promotion: 'prefer', priority: 0 } as const
const downtime = (instance: string, untilWallMs = 1_000_001) => ({
  instance,
  untilWallMs,
  reason: 'new disk',
  owner: '',
})

describe('the winner', () => {
  const cases: Readonly<Record<string, readonly [winner: string, given: SituationOverrides, reason: string]>> = {
    'is the one with the lower ordinal among equals': [
      'shop-1',
      {},
      'shop-2 is not chosen: equal, and shop-1 has the lower ordinal',
    ],
    'holds everything': [
      'shop-2',
      { views: { 'shop-1': promised(98) } },
      'shop-1 is not chosen: it lacks 2 transactions',
    ],
    'has the shorter applier backlog': [
      'shop-2',
      { views: { 'shop-1': behind(7), 'shop-2': behind(2) } },
      'shop-1 is not chosen: it has 7 transactions to apply, shop-2 2',
    ],
    'is not one that was told to apply later, whatever it has to apply': [
      'shop-2',
      { views: { 'shop-1': delayed, 'shop-2': behind(2) } },
      'shop-1 is not chosen: it was told to apply 600 s later than it receives',
    ],
    'is one that was told to apply later where only that holds everything': [
      'shop-1',
      { views: { 'shop-1': delayed, 'shop-2': promised(98) } },
      'shop-2 is not chosen: it lacks 2 transactions',
    ],
    'is preferred by policy': [
      'shop-2',
      { spec: { policies: { 'shop-2': prefer } } },
      'shop-1 is not chosen: shop-2 is preferred by policy',
    ],
    'has the higher priority': [
      'shop-2',
      { spec: { policies: { 'shop-2': { promotion: 'neutral', priority: 5 } } } },
      'shop-1 is not chosen: shop-2 is preferred by policy',
    ],
    'is preferred although its backlog is longer': [
      'shop-2',
      { spec: { policies: { 'shop-2': prefer } }, views: { 'shop-2': behind(9) } },
      'shop-2 is preferred by policy',
    ],
    'is of the older series, which a newer one could not lead': [
      'shop-2',
      { views: { 'shop-1': of('9.7.4'), 'shop-2': of('8.4.6') } },
      'shop-1 is not chosen: it runs MySQL 9.7 and shop-2 8.4, which cannot follow a newer one',
    ],
    'is of the older series although policy prefers the newer': [
      'shop-2',
      { spec: { policies: { 'shop-1': prefer } }, views: { 'shop-1': of('9.7.4'), 'shop-2': of('8.4.6') } },
      'shop-1 is not chosen: it runs MySQL 9.7',
    ],
    'is of the newer series where only that holds everything': [
      'shop-1',
      { views: { 'shop-1': of('9.7.4'), 'shop-2': of('8.4.6', 98) } },
      'shop-2 is not chosen: it lacks 2 transactions',
    ],
    'may be of a newer release of the same series': [
      'shop-1',
      { views: { 'shop-1': of('9.7.5'), 'shop-2': of('9.7.4') } },
      'shop-2 is not chosen: equal, and shop-1 has the lower ordinal',
    ],
    'is not in downtime where another one holds as much': [
      'shop-2',
      { notes: { downtimes: [downtime('shop-1')] } },
      'shop-1 is not chosen: it is in downtime',
    ],
    'is not in downtime although policy prefers that one, and its backlog is shorter': [
      'shop-2',
      {
        spec: { policies: { 'shop-1': prefer } },
        views: { 'shop-2': behind(9) },
        notes: { downtimes: [downtime('shop-1')] },
      },
      'shop-1 is not chosen: it is in downtime',
    ],
    'is in downtime where only that one holds everything': [
      'shop-1',
      { views: { 'shop-2': promised(98) }, notes: { downtimes: [downtime('shop-1')] } },
      'shop-2 is not chosen: it lacks 2 transactions',
    ],
    'is in downtime where the other one could not be followed by it': [
      'shop-1',
      { views: { 'shop-1': of('8.4.6'), 'shop-2': of('9.7.4') }, notes: { downtimes: [downtime('shop-1')] } },
      'shop-2 is not chosen: it runs MySQL 9.7',
    ],
    'is as ever once a downtime has ended': [
      'shop-1',
      { notes: { downtimes: [downtime('shop-1', 1_000_000)] } },
      'shop-2 is not chosen: equal, and shop-1 has the lower ordinal',
    ],
    'is not one whose policy is never': [
      'shop-2',
      { spec: { policies: { 'shop-1': never } } },
      'shop-1 is not chosen: its policy is never',
    ],
    'is not one that a person fenced': [
      'shop-2',
      { notes: { fenced: [{ instance: 'shop-1', keepPrimary: false, wallMs: 0 }] } },
      'shop-1 is not chosen: it is fenced',
    ],
    'is not one with a full disk': [
      'shop-2',
      { views: { 'shop-1': promised(100, { probe: 'diskFull', probeDetail: 'errno 28' }) } },
      'shop-1 is not chosen: its disk: errno 28',
    ],
    'is not one with a read-only file system': [
      'shop-2',
      { views: { 'shop-1': promised(100, { probe: 'readOnlyFilesystem' }) } },
      'shop-1 is not chosen: its disk: readOnlyFilesystem',
    ],
    'is not one that had a replication filter': [
      'shop-2',
      { views: { 'shop-1': promised(100, { stored: { filterSeen: true } }) } },
      'shop-1 is not chosen: it has had a replication filter',
    ],
    'is not one that was open for writes': [
      'shop-2',
      { views: { 'shop-1': promised(100, { stored: { opened: true } }) } },
      'shop-1 is not chosen: it was open for writes while it was no primary and has not been seeded since',
    ],
    'is not one whose mysqld died after its promise': [
      'shop-2',
      { views: { 'shop-1': promised(100, deadServer) } },
      'shop-1 is not chosen: its mysqld is dead',
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [winner, given, reason]) => {
    const election = electionOf(given)
    expect(winnerOf(election)).toBe(winner)
    expect(election.reasons.join('\n')).toContain(reason)
  })

  it('is the one that was asked for', () => {
    const election = electionOf({}, { to: 'shop-2' })
    expect(winnerOf(election)).toBe('shop-2')
    expect(election.reasons).toEqual(['shop-1 is not chosen: shop-2 was asked for'])
  })

  it('is one that leaves only where nobody that stays holds everything', () => {
    const staying = electionOf({}, { leaving: ['shop-1'] })
    expect(winnerOf(staying)).toBe('shop-2')
    expect(staying.reasons).toEqual(['shop-1 is not chosen: it is about to leave'])
    expect(winnerOf(electionOf({ views: { 'shop-2': promised(98) } }, { leaving: ['shop-1'] }))).toBe('shop-1')
  })

  it('is never the old primary', () => {
    const election = electionOf({
      record: { syncSet: [shop1] },
      views: { 'shop-0': promisedAsPrimary(), 'shop-1': { reachable: false } },
    })
    expect(election.winner).toBeNull()
    expect(election.reasons).toEqual(['shop-0 is not chosen: it is the old primary'])
  })
})

describe('where nobody that may lead holds everything', () => {
  it('the best of them must fetch', () => {
    const election = electionOf({ spec: { policies: { 'shop-2': never } }, views: { 'shop-1': promised(98) } })
    expect(election.winner).toBeNull()
    expect(election.mustFetch?.member).toBe(shop1)
    expect(election.reasons).toEqual([
      'shop-2 is not chosen: its policy is never',
      'shop-1 is not chosen: it lacks 2 transactions',
    ])
  })

  it('and nobody may lead at all, nobody fetches', () => {
    const election = electionOf({ spec: { policies: { 'shop-1': never, 'shop-2': never } } })
    expect(election).toMatchObject({ winner: null, mustFetch: null })
  })
})

it('plans with the oldest series, since the others can follow it; when the last of it is the primary, with a newer one', () => {
  const views = {
    'shop-0': { server: { version: '8.4.6' } },
    'shop-1': { server: { version: '9.7.4' } },
    'shop-2': { server: { version: '8.4.6' } },
  }
  expect(preferredOf(aSituation({ views }), [shop1, shop2])).toBe(shop2)
  expect(
    preferredOf(aSituation({ views: { ...views, 'shop-2': { server: { version: '9.7.4' } } } }), [shop1, shop2]),
  ).toBe(shop1)
})

it('plans with the member that policy prefers, then the one with less to apply, then the lower ordinal', () => {
  expect(preferredOf(aSituation(), [shop2, shop1])).toBe(shop1)
  expect(preferredOf(aSituation({ spec: { policies: { 'shop-2': prefer } } }), [shop1, shop2])).toBe(shop2)
  const applying = (backlogTransactions: number) => ({ 'shop-1': { server: { channel: { backlogTransactions } } } })
  expect(preferredOf(aSituation({ views: applying(618) }), [shop1, shop2])).toBe(shop2)
  expect(preferredOf(aSituation({ views: applying(9) }), [shop1, shop2])).toBe(shop1)
  const delayed = {
    'shop-1': { server: { channel: { changedOptions: [{ name: 'SOURCE_DELAY', seen: '600', wanted: '0' }] } } },
  }
  expect(preferredOf(aSituation({ views: delayed }), [shop1, shop2])).toBe(shop2)
  expect(preferredOf(aSituation({ spec: { policies: { 'shop-1': never } } }), [shop1])).toBeNull()
  const expecting = { spec: { policies: { 'shop-1': prefer } }, notes: { downtimes: [downtime('shop-1')] } }
  expect(preferredOf(aSituation(expecting), [shop1, shop2])).toBe(shop2)
  expect(preferredOf(aSituation(expecting), [shop1])).toBe(shop1)
})
