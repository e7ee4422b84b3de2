import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { chainFrom } from '../archive/chain.ts'
import { historyOf, type Archive } from '../archive/history.ts'
import { storyWith } from '../archive/testing-archive.ts'
import { aManifest, aPiece, sourceA, sourceB, startMs } from '../objects/testing.ts'
import { lengthsToTry, planRestore, type Asked } from './restore-plan.ts'

const how = { serverVersion: '9.7.4', keyIds: [] }

/** An archive of so many pieces in so many epochs, behind one backup; and how often anybody looked at a piece. */
function anArchive(pieces: number, epochs: number, shift = 0) {
  let looks = 0
  const counted = (at: number, epoch: number) => {
    const piece = aPiece({ epoch, from: at + 1, to: at + 1, preceding: at + shift })
    return Object.defineProperty(piece, 'source', { enumerable: true, get: () => ((looks += 1), sourceA) })
  }
  const each = pieces / epochs
  const archive: Archive = {
    manifests: [aManifest()],
    openings: Array.from({ length: epochs }, (_, at) => ({
      ...{ epoch: at + 1, atMs: startMs },
      gtids: GtidSet.parse(at === 0 ? '' : `${sourceA}:1-${at * each}`),
    })),
    pieces: Array.from({ length: pieces }, (_, at) => counted(at, Math.floor(at / each) + 1)),
  }
  return { archive, looks: () => looks }
}

function looksFor(pieces: number, epochs: number, target: Asked['target'], kind: string): number {
  const { archive, looks } = anArchive(pieces, epochs)
  expect(planRestore(archive, { target, ...how }).kind).toBe(kind)
  return looks()
}

describe('A plan in an archive of many epochs', () => {
  it.each(['gtids', 'before'] as const)('that nothing leads to (%s) is refused with a few looks', (kind) => {
    const target = { kind, gtids: GtidSet.parse(`${sourceB}:1`) }
    expect(looksFor(4_000, 40, target, 'refused')).toBeLessThan(2 * looksFor(4_000, 2, target, 'refused'))
  })

  it('before a transaction of the first epoch is made with a few looks', () => {
    const target = { kind: 'before', gtids: GtidSet.parse(`${sourceA}:2`) } as const
    expect(looksFor(4_000, 40, target, 'plan')).toBeLessThan(2 * looksFor(4_000, 2, target, 'plan'))
  })

  it('where senders count differently asks once whether something lacks', () => {
    const looks = (pieces: number) => {
      const { archive, looks } = anArchive(pieces, 1, -1)
      const began = { epoch: 2, atMs: startMs, gtids: GtidSet.parse(`${sourceA}:1-${pieces}`) }
      const [manifest] = archive.manifests
      if (manifest === undefined) throw new Error('there is no backup')
      const chain = chainFrom(manifest, historyOf({ ...archive, openings: [...archive.openings, began] }))
      expect([chain.hole, chain.steps.length]).toEqual([null, pieces])
      return looks()
    }
    expect(looks(400)).toBeLessThan(3 * looks(200))
  })

  it('tries each length of the history at which a backup reaches more than at a longer one', () => {
    const given = fc.tuple(storyWith({ phantoms: 2 }), fc.nat(40), fc.nat(40))
    let lost = 0
    fc.assert(
      fc.property(given, ([{ archive, history: commits }, at, nth]) => {
        const piece = archive.pieces[nth % Math.max(1, archive.pieces.length)]
        const committed = commits[at % Math.max(1, commits.length)]?.gtid ?? `${sourceA}:1`
        const wanted = GtidSet.parse(nth % 4 === 0 || piece === undefined ? committed : `${piece.source}:${piece.to}`)
        const history = historyOf(archive)
        const tried = lengthsToTry(archive, history, wanted)
        for (const manifest of archive.manifests) {
          const isReached = (length: number) => chainFrom(manifest, history.slice(0, length)).gtids.contains(wanted)
          const reached = tried.findIndex(isReached)
          const each = [...history.keys(), history.length].toReversed().findIndex(isReached)
          expect(reached === -1 ? -1 : tried[reached]).toBe(each === -1 ? -1 : history.length - each)
          if (reached > 0) lost += 1
        }
      }),
      { numRuns: 1_000 },
    )
    expect(lost).toBeGreaterThan(3)
  })
})
