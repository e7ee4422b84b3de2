import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { keyOf } from '../objects/object-key.ts'
import type { Piece } from '../objects/piece-name.ts'
import { KeyRing } from '../keys/key-ring.ts'
import { aManifest, aPiece, sourceA, startMs } from '../objects/testing.ts'
import { believedBy } from './believed-archive.ts'
import { pieceObject } from './piece-object.ts'

const key = new KeyRing([randomBytes(32)])
const { lineage } = aManifest()
const executed = GtidSet.parse(`${sourceA}:1-12`)
const behind = aPiece({ from: 1, to: 10 })
const ahead = aPiece({ from: 11, to: 20, preceding: 10 })
const last = 9_223_372_036_854_775_806n
const nothing = { manifests: [], openings: [], pieces: [] }
const keyOfPiece = (piece: Piece) => keyOf({ kind: 'piece', cluster: 'shop', piece })

async function signedPiece(piece: Piece, of = lineage): Promise<MemoryStore> {
  const store = new MemoryStore()
  const content = Buffer.from('content')
  const object = pieceObject(
    { rawBytes: content.length, content: Readable.from([content]) },
    { cluster: 'shop', lineage: of, piece },
    key,
  )
  await store.put(keyOfPiece(piece), object)
  return store
}

async function believed(store: MemoryStore, pieces: readonly Piece[], ring: KeyRing | null = key) {
  const by = { store, cluster: 'shop', lineage, key: ring, executed }
  const { archive, doubted } = await believedBy({ ...nothing, pieces }, by)
  return { pieces: archive.pieces, doubted: doubted.map((each) => `${each.key} ${each.gtids.toString()}`) }
}

describe('What a sender believes of the archive', () => {
  it('is what its server has executed, and a piece ahead of that whose name a key signed', async () => {
    const store = await signedPiece(ahead)
    expect(await believed(store, [behind, ahead])).toEqual({ pieces: [behind, ahead], doubted: [] })
    const doubted = [`${keyOfPiece(ahead)} ${sourceA}:13-20`]
    expect(await believed(store, [behind, ahead], null)).toEqual({ pieces: [behind], doubted })
  })

  it('is no piece that was renamed, is of another cluster or another key, is plain, or is gone', async () => {
    const signed = await signedPiece(ahead)
    const [content = Buffer.alloc(0)] = signed.objects.values()
    const all = { ...ahead, to: last }
    const renamed = new MemoryStore()
    renamed.objects.set(keyOfPiece(all), content)
    expect(await believed(renamed, [all])).toEqual({
      pieces: [],
      doubted: [`${keyOfPiece(all)} ${sourceA}:13-${last}`],
    })
    const damaged = new MemoryStore()
    damaged.objects.set(keyOfPiece(ahead), Buffer.from('damaged'))
    const other = new KeyRing([randomBytes(32)], { takesPlain: true })
    for (const [store, ring] of [
      [await signedPiece(ahead, 'ffeeddccbbaa9988'), key],
      [signed, other],
      [damaged, key],
      [new MemoryStore(), key],
    ] as const)
      expect((await believed(store, [ahead], ring)).pieces).toEqual([])
  })

  it('is no backup and no beginning of an epoch with what the server has not executed', async () => {
    const manifests = [aManifest({ gtids: `${sourceA}:1-9` }), aManifest({ gtids: `${sourceA}:1-${last}` })]
    const openings = [7, 13].map((to, epoch) => ({ epoch, atMs: startMs, gtids: GtidSet.parse(`${sourceA}:1-${to}`) }))
    const by = { store: new MemoryStore(), cluster: 'shop', lineage, key, executed }
    const { archive, doubted } = await believedBy({ manifests, openings, pieces: [] }, by)
    expect([archive.manifests, archive.openings]).toEqual([manifests.slice(0, 1), openings.slice(0, 1)])
    expect(doubted.map(({ key }) => key)).toEqual([
      `shop/base/${manifests[1]?.name ?? ''}/manifest.json`,
      'shop/binlog/0000000001/opening.json',
    ])
  })

  it('looks behind few names, however many there are, and tells of a store that does not answer', async () => {
    const store = new MemoryStore()
    let looks = 0
    store.get = async function* () {
      looks += 1
      yield Buffer.from('damaged')
    }
    const many = Array.from({ length: 200 }, (_, at) => aPiece({ from: 20 + at, to: 20 + at, preceding: at }))
    expect([(await believed(store, many)).doubted.length, looks]).toEqual([200, 64])
    store.get = () => {
      throw new RegentError('REGENT_BACKUP_STORE', say`memory does not answer`)
    }
    await expect(believed(store, [ahead])).rejects.toThrow('memory does not answer')
  })
})
