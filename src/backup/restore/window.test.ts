import { describe, expect, it } from 'vitest'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Archive } from '../archive/history.ts'
import type { Opening } from '../objects/opening.ts'
import { aManifest, aPiece, sourceA, sourceB, startMs } from '../objects/testing.ts'
import { describePossible, windowOf } from './window.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const second = (seconds: number) => startMs + seconds * 1_000
const opening = (epoch: number, gtids: string, at = 0): Opening => ({
  epoch,
  atMs: second(at),
  gtids: GtidSet.parse(gtids),
})
/** Ten transactions of A, in ten seconds. */
const ten = (nth: number, given = {}) =>
  aPiece({
    from: nth * 10 + 1,
    to: nth * 10 + 10,
    preceding: nth * 10,
    firstMs: second(nth * 10 + 1),
    lastMs: second(nth * 10 + 10),
    offset: nth,
    ...given,
  })
const first = aManifest({ gtids: `${sourceA}:1-5`, endedAtMs: second(5) })

const archive = (given: Partial<Archive>): Archive => ({
  manifests: [first],
  openings: [opening(1, '')],
  pieces: [],
  ...given,
})
/** What can be restored, and then each hole. */
function told(given: Partial<Archive>): readonly string[] {
  const window = windowOf(archive(given))
  return [describePossible(window), ...window.holes.map(({ why }) => why)].map(String)
}

describe('the window', () => {
  it('is from the end of the backup to the last commit of an unbroken archive', () => {
    const window = windowOf(archive({ pieces: [ten(1), ten(0)] }))
    expect(window).toMatchObject({ spans: [{ fromMs: second(5), toMs: second(20) }], alone: [], holes: [] })
    expect(window.newest?.gtids.toString()).toBe(`${sourceA}:1-20`)
    expect(told({ pieces: [ten(0), ten(1)] })).toEqual(['2026-11-18T11:06:45Z to 2026-11-18T11:07:00Z'])
  })

  it('is to the second within, where times have milliseconds', () => {
    const manifests = [aManifest({ gtids: `${sourceA}:1-5`, endedAtMs: second(5) + 1 })]
    const pieces = [ten(0, { lastMs: second(10) - 1 })]
    expect(windowOf(archive({ manifests, pieces })).spans).toEqual([{ fromMs: second(6), toMs: second(9) }])
  })

  it('of a backup without pieces behind it is that backup', () => {
    expect(told({})).toEqual([`backup ${first.name} as it is`])
    expect(told({ pieces: [ten(0, { to: 5 })] })).toEqual([`backup ${first.name} as it is`])
    expect(told({ manifests: [], pieces: [ten(0)] })).toEqual(['nothing, since no backup is whole'])
  })

  it('ends at a hole, which is named, and begins again with the next backup', () => {
    const later = aManifest({ gtids: `${sourceA}:1-25`, endedAtMs: second(25) })
    expect(told({ manifests: [first, later], pieces: [ten(0), ten(2), ten(3)] })).toEqual([
      '2026-11-18T11:06:45Z to 2026-11-18T11:06:50Z; 2026-11-18T11:07:05Z to 2026-11-18T11:07:20Z',
      `the archive lacks 10 transactions (${sourceA}:11-20), committed after 2026-11-18T11:06:50Z and before 2026-11-18T11:07:01Z`,
    ])
  })

  it('names a hole by the number of transactions where a tag hides in it', () => {
    expect(told({ pieces: [ten(0), ten(1, { preceding: 13 })] })[1]).toBe(
      `the archive lacks 3 transactions before ${sourceA}:11, committed after 2026-11-18T11:06:50Z and before 2026-11-18T11:06:51Z`,
    )
  })

  describe('of a group whose members had two transactions in two orders', () => {
    const one = (number: number, given = {}) =>
      ten(1, { from: number, to: number, firstMs: second(number), lastMs: second(number), ...given })
    /** The first primary shipped 12 before 11; the next one had 11 before 12. */
    const pieces = [
      ten(0),
      one(12, { preceding: 10 }),
      one(11, { preceding: 10, epoch: 2, sender: 'shop-1@b0' }),
      one(13, { preceding: 12, to: 14, lastMs: second(14), epoch: 2, sender: 'shop-1@b0' }),
    ]

    it('has no hole where the later epoch began with both', () => {
      const openings = [opening(1, ''), opening(2, `${sourceA}:1-13`, 13)]
      const window = windowOf(archive({ pieces, openings }))
      expect(window).toMatchObject({ holes: [], spans: [{ fromMs: second(5), toMs: second(14) }] })
      expect(window.newest?.gtids.toString()).toBe(`${sourceA}:1-14`)
    })

    it('ends there where the later epoch began with more than was shipped', () => {
      const openings = [opening(1, ''), opening(2, `${sourceA}:1-12:15`, 12)]
      const window = windowOf(archive({ pieces, openings }))
      expect(window.holes).toHaveLength(1)
      expect(window.spans).toEqual([{ fromMs: second(5), toMs: second(11) }])
    })
  })

  it('has no hole where numbers have gaps that were never used, as in blocks of a group', () => {
    const block = ten(1, { from: 1_000_001, to: 1_000_010 })
    expect(windowOf(archive({ pieces: [ten(0), block] }))).toMatchObject({ holes: [], spans: [{ toMs: second(20) }] })
  })

  it('goes on behind a failover, with pieces of another server in the next epoch', () => {
    const openings = [opening(1, ''), opening(2, `${sourceA}:1-20`, 21)]
    const ofB = ten(2, { epoch: 2, source: sourceB, from: 1, to: 10, sender: 'shop-1@b0' })
    const window = windowOf(archive({ openings, pieces: [ten(0), ten(1), ofB] }))
    expect(window).toMatchObject({ holes: [], spans: [{ fromMs: second(5), toMs: second(30) }] })
    expect(window.newest?.gtids.toString()).toBe(`${sourceA}:1-20,${sourceB}:1-10`)
  })

  it('has a hole where the old primary died before its last piece was shipped, although the next number fits', () => {
    const openings = [opening(1, ''), opening(2, `${sourceA}:1-20`, 21)]
    const ofB = ten(2, { epoch: 2, source: sourceB, from: 1, to: 10, sender: 'shop-1@b0' })
    expect(told({ openings, pieces: [ten(0), ofB] })[1]).toContain(
      `the archive lacks 10 transactions (${sourceA}:11-20)`,
    )
    expect(told({ openings, pieces: [ten(0)] })[1]).toBe(
      `the archive lacks 10 transactions (${sourceA}:11-20), committed after 2026-11-18T11:06:50Z, before epoch 2`,
    )
    const closed = ten(1, { epoch: 2, sender: 'shop-1@b0' })
    expect(told({ openings, pieces: [ten(0), closed, ofB] })).toHaveLength(1)
  })

  it('has no hole that was closed later, by a replica in the same epoch or by whoever led in the next one', () => {
    const openings = [opening(1, ''), opening(2, `${sourceA}:1-30`, 31)]
    const rest = [ten(0), ten(2), ten(3, { epoch: 2, source: sourceB, from: 1, to: 10 })]
    expect(told({ openings, pieces: rest })).toHaveLength(2)
    for (const epoch of [1, 2]) {
      const window = windowOf(archive({ openings, pieces: [...rest, ten(1, { epoch, sender: 'shop-1@b0' })] }))
      expect(window).toMatchObject({ holes: [], spans: [{ fromMs: second(5), toMs: second(40) }] })
    }
  })

  it('leaves out what only the lost primary had, although it shipped that', () => {
    const openings = [opening(1, ''), opening(2, `${sourceA}:1-17`, 21)]
    const ofB = ten(2, { epoch: 2, source: sourceB, from: 1, to: 10, preceding: 17, sender: 'shop-1@b0' })
    const window = windowOf(archive({ openings, pieces: [ten(0), ten(1), ofB] }))
    expect(window).toMatchObject({ holes: [] })
    expect(window.newest?.gtids.toString()).toBe(`${sourceA}:1-17,${sourceB}:1-10`)
  })

  it('of a backup that holds what was lost ends with that failover', () => {
    const openings = [opening(1, ''), opening(2, `${sourceA}:1-3`, 21)]
    expect(told({ openings })[1]).toBe(
      `backup ${first.name} holds 2 transactions (${sourceA}:4-5) that epoch 2 does not have`,
    )
  })

  it('ends before an epoch that does not say with what it began', () => {
    expect(told({ openings: [opening(1, '')], pieces: [ten(0), ten(1, { epoch: 2 })] })[1]).toBe(
      'the archive of epoch 2 lacks its opening: after 2026-11-18T11:06:50Z what the pieces of that epoch follow is not known',
    )
  })

  it('is not extended by pieces that contradict what the backup holds', () => {
    const manifests = [aManifest({ gtids: `${sourceA}:1-5,${sourceB}:7`, endedAtMs: second(5) })]
    expect(told({ manifests, pieces: [ten(0)] })[1]).toBe(
      `piece ${sourceA}:1-10 of shop-0@0a1b2c3d4e5f does not fit behind backup ${first.name}: after 2026-11-18T11:06:45Z both have other transactions`,
    )
  })

  it('is found in time that grows with the number of pieces alone', () => {
    const pieces = Array.from({ length: 20_000 }, (_, at) => ten(at, { firstMs: second(at), lastMs: second(at + 1) }))
    const started = performance.now()
    expect(windowOf(archive({ pieces })).spans).toEqual([{ fromMs: second(5), toMs: second(20_000) }])
    // About 150 ms; anything that is not linear takes minutes.
    expectBelow(20_000, performance.now() - started)
  })
})
