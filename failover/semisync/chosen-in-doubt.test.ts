import { describe, expect, it } from 'vitest'
import { saying } from '#test/support/said-as-text.ts'
import type { StoredSummary } from '#topology/snapshot/observation.ts'
import { decide } from '../decide.ts'
import { whyNoFailover } from '../way-out/asked-failover.ts'
import { wayOut } from '../way-out/way-out.ts'
import {
  aSituation,
  committed,
  lostAgent,
  never,
  ordersOf,
  promised,
  shop0,
  shop1,
  shop2,
  type SituationOverrides,
} from '../testing.ts'
import { semisync } from './decide-semisync.ts'
import { decisionFor } from './testing-reseeding.ts'

const doubts: Readonly<Record<string, readonly [why: string, Partial<StoredSummary>]>> = {
  'a replication filter was seen on it': ['it has had a replication filter', { filterSeen: true }],
  'its GTIDs were reset': [
    'its GTIDs were reset by another hand and it has not been seeded since',
    { gtidsReset: true, fromThePast: true, forgetful: true },
  ],
  'it ran without a binary log': [
    'it ran without a binary log and has not been seeded since',
    { gtidsReset: true, binlogOff: true, fromThePast: true, forgetful: true },
  ],
}

/** It has lost its source. */
const deaf = { server: { channel: { ioRunning: 'connecting', silentMs: null } } } as const

const byName = { to: 'shop-2', acceptLoss: true }
const unnamed = { to: null, acceptLoss: true }

describe.each(Object.entries(doubts))('The only replica that is left, where %s', (_, [why, stored]) => {
  const unknown = `shop-2 is in doubt (${why}): what it lacks is unknown, and others count once seeded from it`
  /** The primary is gone for good, and so is shop-1. */
  const left = (given: SituationOverrides = {}) =>
    aSituation({
      nowMs: 60_000,
      ...given,
      views: { 'shop-0': lostAgent, 'shop-1': lostAgent, 'shop-2': { ...deaf, stored }, ...given.views },
    })
  const asked = (ask: typeof byName | typeof unnamed, given: SituationOverrides = {}) =>
    decide(left({ requests: [{ kind: 'failover', id: 'asked', ...ask }], ...given }))
  const views = { 'shop-2': promised(97, { stored }) }

  it('leads by the one command that explain names, and that the command takes', () => {
    expect(wayOut(left())).toEqual({
      command: { verb: 'failover', ...byName },
      sentence: saying(
        `use: regent failover --accept-loss --to shop-2 (shop-2 leads, and what only others hold is given up; ${unknown})`,
      ),
    })
    expect(whyNoFailover(left(), byName)).toBeNull()
    expect(String(decide(left()).sentence)).toContain('regent failover --accept-loss --to shop-2')
  })

  it('leads for nobody who does not name it: who accepts a loss accepts one that can be counted', () => {
    const sentence = `no forced failover: ${unknown}; to let it lead: regent failover --accept-loss --to shop-2`
    expect(String(whyNoFailover(left(), unnamed))).toBe(sentence)
    expect(asked(unnamed, { views })).toMatchObject({ actions: [], blocked: true })
  })

  it('is asked to promise, and leads as it is, alone: all others are to be copies of it', () => {
    expect(ordersOf(asked(byName))).toEqual(['promise shop-2 2@1'])
    const decision = asked(byName, { views })
    expect(committed(decision)).toMatchObject({
      epoch: 2,
      primary: shop2,
      syncSet: [],
      doubted: { since: 2, members: [shop0, shop1] },
    })
    expect(decision.sentence).toContain(unknown)
  })

  it('is no candidate while another one may lead', () => {
    const given = { views: { 'shop-1': {} }, record: { syncSet: [shop2], acks: 1 } }
    expect(String(whyNoFailover(left(given), byName))).toMatch(/shop-2 may not lead|the copy of shop-2 is old/)
    expect(whyNoFailover(left(given), unnamed)).toBeNull()
  })

  it('leads also beside one that never may', () => {
    const given = { views: { 'shop-1': {} }, spec: { policies: { 'shop-1': never } } }
    expect(whyNoFailover(left(given), byName)).toBeNull()
  })

  it('is said to be in doubt by a dry run', () => {
    expect(String(semisync.unknownOf?.(left(), 'shop-2'))).toBe(unknown)
    expect(semisync.unknownOf?.(left({ views: { 'shop-2': {} } }), 'shop-2')).toBeNull()
  })
})

describe('Beside a primary that was in doubt when a person chose it', () => {
  const record = { doubted: { since: 1, members: [shop1, shop2] }, syncSet: [] }

  it('nobody counts by GTIDs: whoever is no copy yet is seeded', () => {
    const decision = decisionFor({ stored: { copiedEpoch: 0 } }, { record, views: { 'shop-1': lostAgent } })
    expect(decision.sentence).toContain(
      'shop-2 may hold other rows by the same names than the primary that a person chose',
    )
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
  })

  it('a copy that was made since counts', () => {
    const decision = decisionFor({ stored: { copiedEpoch: 1 } }, { record: { ...record, acks: 0, acksWanted: 0 } })
    expect(committed(decision)).toMatchObject({ syncSet: [shop2], doubted: record.doubted })
  })
})
