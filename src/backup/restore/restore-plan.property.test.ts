import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { chainFrom, type Chain } from '../archive/chain.ts'
import { historyOf, type Archive } from '../archive/history.ts'
import { gtidsOf, type Piece } from '../objects/piece-name.ts'
import { planRestore, type Plan, type Refused, type Target } from './restore-plan.ts'
import { replayed, setOf, storyWith, type Story } from '../archive/testing-archive.ts'
import { windowOf } from './window.ts'

const plan = (archive: Archive, target: Target): Plan | Refused =>
  planRestore(archive, { target, serverVersion: '9.7.0', keyIds: [] })

/** Fails unless the restore comes to a prefix of what was committed, in its order. @returns how long that is */
function expectHistory(given: Story, planned: Plan): number {
  const { gtids, order } = replayed(given, planned)
  const places = order.map((gtid) => given.history.findIndex((each) => each.gtid === gtid))
  expect(places).toEqual(places.toSorted((one, other) => one - other))
  expect(gtids.toString()).toBe(setOf(given.history.slice(0, gtids.count())).toString())
  return gtids.count()
}

const story = storyWith({ phantoms: 2 })

/** The same with some pieces of the archive gone. */
const damaged = fc.tuple(story, fc.array(fc.nat(30), { maxLength: 4 })).map(([given, gone]) => ({
  ...given,
  archive: { ...given.archive, pieces: given.archive.pieces.filter((_, at) => !gone.includes(at)) },
}))

/** The same with an opening gone: what a lost primary shipped in vain could not be told from history then. */
const unopened = fc.tuple(storyWith({ phantoms: 0 }), fc.nat(4)).map(([given, gone]) => ({
  ...given,
  archive: { ...given.archive, openings: given.archive.openings.filter((_, at) => at !== gone) },
}))

/** The same where some pieces were shipped in a later epoch than their neighbours, by whoever still had them. */
const closedLater = fc.tuple(story, fc.array(fc.nat(30), { maxLength: 4 })).map(([given, moved]) => {
  const { openings } = given.archive
  const laterOf = ({ epoch, ...piece }: Piece): Piece => {
    const next = openings.filter((opening) => opening.epoch > epoch)
    const has = next.findLastIndex((_, at) => next.slice(0, at + 1).every((one) => one.gtids.contains(gtidsOf(piece))))
    return { ...piece, epoch: next[has]?.epoch ?? epoch, sender: 'shop-2@c0' }
  }
  const pieces = given.archive.pieces.map((piece, at) => (moved.includes(at) ? laterOf(piece) : piece))
  return { given, closed: { ...given.archive, pieces } }
})

/** One of the window where there is one. */
function someSecond({ archive, history }: Story, random: number): number {
  const { spans } = windowOf(archive)
  const span = spans[random % Math.max(1, spans.length)]
  const seconds = span === undefined ? 10 : (span.toMs - span.fromMs) / 1_000 + 1
  const fromMs = span?.fromMs ?? Math.floor((history[0]?.ms ?? 0) / 1_000) * 1_000
  return fromMs + (random % seconds) * 1_000
}

function lackingIn({ hole }: Chain): GtidSet {
  return hole?.gtids ?? GtidSet.empty
}

const runs = { numRuns: 200 }

describe('a restore from any archive, after any failovers', () => {
  it('reaches all that was shipped, in the order in which it was committed, from each backup of that time', () => {
    fc.assert(
      fc.property(story, (given) => {
        for (const manifest of given.archive.manifests) {
          const chain = chainFrom(manifest, historyOf(given.archive))
          const copied = GtidSet.parse(manifest.gtids).count()
          const reached = copied < given.before ? copied : Math.max(copied, given.archived)
          expect(chain.gtids.count()).toBe(reached)
          if (copied >= given.before) expect(setOf(given.history.slice(reached)).contains(lackingIn(chain))).toBe(true)
          else expect(chain.hole).not.toBeNull()
        }
        const newest = plan(given.archive, { kind: 'newest' })
        if (newest.kind === 'plan') expectHistory(given, newest)
      }),
      runs,
    )
  })

  it('reaches as far where a hole was closed in a later epoch', () => {
    let closedOnes = 0
    fc.assert(
      fc.property(closedLater, ({ given, closed }) => {
        const moved = closed.pieces.filter(({ epoch }, at) => epoch !== given.archive.pieces[at]?.epoch)
        closedOnes += moved.length
        for (const manifest of given.archive.manifests) {
          const [as, was] = [closed, given.archive].map((archive) => chainFrom(manifest, historyOf(archive)).gtids)
          expect(as?.toString()).toBe(was?.toString())
        }
        const newest = plan(closed, { kind: 'newest' })
        if (newest.kind === 'plan') expectHistory({ ...given, archive: closed }, newest)
      }),
      runs,
    )
    expect(closedOnes).toBeGreaterThan(60)
  })

  it('never comes to anything but what was so at one moment, whatever is gone from the archive', () => {
    let possible = 0
    fc.assert(
      fc.property(fc.oneof(damaged, unopened), fc.nat(20_000), (given, afterMs) => {
        const ms = someSecond(given, afterMs)
        const newest = plan(given.archive, { kind: 'newest' })
        if (newest.kind === 'plan') expectHistory(given, newest)
        const planned = plan(given.archive, { kind: 'moment', ms })
        if (planned.kind === 'refused') return
        possible += 1
        const committed = given.history.filter((each) => each.ms <= ms)
        expect(replayed(given, planned).gtids.toString()).toBe(setOf(committed).toString())
      }),
      runs,
    )
    expect(possible).toBeGreaterThan(60)
  })

  it('to each second of the window is possible, and to no other', () => {
    fc.assert(
      fc.property(damaged, fc.nat(20), (given, seconds) => {
        const ms = Math.floor((given.history[0]?.ms ?? 0) / 1_000 + seconds) * 1_000
        const { spans } = windowOf(given.archive)
        const isWithin = spans.some(({ fromMs, toMs }) => fromMs <= ms && ms <= toMs)
        expect(plan(given.archive, { kind: 'moment', ms }).kind).toBe(isWithin ? 'plan' : 'refused')
      }),
      runs,
    )
  })

  it('ends with, or right before, a transaction that is named', () => {
    fc.assert(
      fc.property(damaged, fc.nat(40), (given, at) => {
        const named = given.history[at]
        if (named === undefined) return
        const gtids = setOf([named])
        const until = plan(given.archive, { kind: 'gtids', gtids })
        if (until.kind === 'plan') {
          const reached = expectHistory(given, until)
          expect(reached).toBeGreaterThanOrEqual(at + 1)
          // A backup may hold some more of the same primary where a tag tells no order; never of a later primary.
          expect(given.history[reached - 1]?.epoch).toBe(named.epoch)
        }
        if (until.kind === 'plan' && until.steps.length > 0) expect(until.gtids.count()).toBe(at + 1)
        const before = plan(given.archive, { kind: 'before', gtids })
        if (before.kind === 'plan') expect(expectHistory(given, before)).toBe(at)
      }),
      runs,
    )
  })

  it('is not changed by pieces in another order, or twice', () => {
    fc.assert(
      fc.property(story, (given) => {
        const { pieces, ...rest } = given.archive
        const other = plan({ ...rest, pieces: [...pieces.toReversed(), ...pieces] }, { kind: 'newest' })
        expect(other).toEqual(plan(given.archive, { kind: 'newest' }))
      }),
    )
  })
})
