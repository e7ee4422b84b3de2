import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { MemoryStore } from '#object-store/testing-store.ts'
import { binlogFile, dml, uuid } from '#test/support/synthetic-binlog.ts'
import { keyOf } from '../objects/object-key.ts'
import { gtidsOf, pieceName, type Piece } from '../objects/piece-name.ts'
import { writeStored } from '../objects/stored-json.ts'
import { dataKeys, keyIdOf } from '../keys/data-key.ts'
import { KeyRing } from '../keys/key-ring.ts'
import { encoded } from '../stream/part-codec.ts'
import { aManifest, aPiece, startMs } from '../objects/testing.ts'
import { pieceObject } from './piece-object.ts'
import { readPiece, type PieceSource } from './read-piece.ts'
import { requireKeys } from './require-keys.ts'

const [one, other] = [randomBytes(32), randomBytes(32)]
const key = new KeyRing([one])
const times = [startMs, startMs + 10, startMs + 20]
const whole = binlogFile(times.flatMap((ms, at) => dml(at + 5, 90_000, ms)))
const raw = whole.subarray(4)
const piece = aPiece({ source: uuid, from: 5, to: 7, firstMs: startMs, lastMs: startMs + 20 })
const storeKey = keyOf({ kind: 'piece', cluster: 'shop', piece })

const { lineage } = aManifest()
const place = { cluster: 'shop', lineage, piece }

async function stored(content: Buffer = raw, encryptedWith: KeyRing | null = key): Promise<MemoryStore> {
  const store = new MemoryStore()
  const of = { rawBytes: content.length, content: Readable.from([content]) }
  await store.put(storeKey, pieceObject(of, place, encryptedWith))
  return store
}

/** As Regent wrote a piece before names were signed. */
async function storedBefore(): Promise<MemoryStore> {
  const [store, salt] = [new MemoryStore(), randomBytes(32)]
  const encryption = { scheme: 'aes-256-gcm', keyId: keyIdOf(one), salt: salt.toString('hex') }
  const content = encoded(Readable.from([raw]), { part: 1, key: dataKeys(one, salt).encrypts })
  const head = framed(writeStored({ formatVersion: 1, rawBytes: raw.length, encryption }))
  const chunks: Uint8Array[] = [head]
  for await (const chunk of content) chunks.push(chunk)
  store.objects.set(storeKey, Buffer.concat(chunks))
  return store
}

function framed(head: string): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(Buffer.byteLength(head))
  return Buffer.concat([length, Buffer.from(head)])
}

/** The one object of a store, under another name. */
function renamed({ objects }: MemoryStore, to: Piece, cluster = 'shop'): MemoryStore {
  const store = new MemoryStore()
  const [content = Buffer.alloc(0)] = objects.values()
  store.objects.set(keyOf({ kind: 'piece', cluster, piece: to }), content)
  return store
}

async function read(store: MemoryStore, given: Partial<PieceSource> = {}) {
  const parts: Buffer[] = []
  for await (const { bytes } of readPiece({ store, ...place, key, ...given })) parts.push(bytes)
  return Buffer.concat(parts)
}

describe('a piece of the archive', () => {
  it.each([
    ['encrypted', key],
    ['plain', null],
  ])('that is %s comes back as it was', async (_, encryptedWith) => {
    const store = await stored(raw, encryptedWith)
    expect((await read(store, { key: encryptedWith })).equals(raw)).toBe(true)
  })

  it('that was changed or cut anywhere is refused', async () => {
    const [[, bytes] = ['', Buffer.alloc(0)]] = [...(await stored()).objects]
    for (let at = 0; at < bytes.length; at += 37) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(bytes.readUInt8(at) ^ 4, at)
      for (const content of [changed, bytes.subarray(0, at)]) {
        const store = new MemoryStore()
        store.objects.set(storeKey, content)
        await expect(read(store), `at byte ${at}`).rejects.toThrow()
      }
    }
  })

  it('that retention deleted after a plan had named the piece is said to be gone', async () => {
    await expect(read(new MemoryStore())).rejects.toMatchObject({
      code: 'REGENT_NOT_FOUND',
      message: expect.stringMatching(
        /^piece \S+ is not in the store any more: retention or a person deleted that/,
      ) as string,
    })
  })

  it('that holds other transactions than its name says is refused', async () => {
    for (const key of [null, new KeyRing([one], { takesPlain: true })]) {
      const content = key === null ? await stored(raw, null) : await storedBefore()
      for (const other of [{ to: 6 }, { to: 8 }, { from: 4 }, { firstMs: startMs + 1 }, { lastMs: startMs + 19 }]) {
        const named = aPiece({ ...piece, ...other })
        await expect(read(renamed(content, named), { piece: named, key })).rejects.toMatchObject({
          code: 'REGENT_BACKUP_UNUSABLE',
          message: expect.stringMatching(/it holds transaction|it ends before|at another time/) as string,
        })
      }
    }
  })

  it.each<[string, Partial<Piece>]>([
    ['place in the history', { preceding: 3 }],
    ['epoch', { epoch: 2 }],
    ['sender', { sender: 'shop-1@0a1b2c3d4e5f' }],
    ['file', { file: 'binlog.000002' }],
    ['offset', { offset: 4 }],
    ['times', { firstMs: startMs - 1, lastMs: startMs + 21 }],
  ])('that got another %s in its name is refused, before anything is downloaded', async (_, change) => {
    const named = aPiece({ ...piece, ...change })
    const store = renamed(await stored(), named)
    const why = `piece ${pieceName(named)} cannot be used: it was stored under another name, or was changed after that`
    for (const takesPlain of [false, true])
      await expect(read(store, { piece: named, key: new KeyRing([one], { takesPlain }) })).rejects.toThrow(why)
    const plan = { backup: aManifest(), steps: [{ piece: named, gtids: gtidsOf(named) }] }
    await expect(requireKeys(plan, { store, key })).rejects.toThrow(why)
  })

  it('of another cluster is refused, whether that has another folder or the same', async () => {
    await expect(read(renamed(await stored(), piece, 'other'), { cluster: 'other' })).rejects.toThrow('another name')
    await expect(read(await stored(), { lineage: 'ffeeddccbbaa9988' })).rejects.toThrow(
      `it is of another cluster of that name (lineage ${lineage})`,
    )
    expect((await read(await stored(), { lineage: null })).equals(raw)).toBe(true)
  })

  it('of an older Regent, whose name is not signed, is taken where that is allowed', async () => {
    const store = await storedBefore()
    const why = `the name of piece ${pieceName(piece)} is not signed, and a key is given: `
    await expect(read(store)).rejects.toMatchObject({ code: 'REGENT_REFUSED' })
    await expect(read(store)).rejects.toThrow(why)
    const plan = { backup: aManifest(), steps: [{ piece, gtids: gtidsOf(piece) }] }
    await expect(requireKeys(plan, { store, key })).rejects.toThrow(why)
    const allowed = new KeyRing([one], { takesPlain: true })
    await requireKeys(plan, { store, key: allowed })
    expect((await read(store, { key: allowed })).equals(raw)).toBe(true)
  })

  it('is never given out for an older one: without its signature it does not open', async () => {
    const [content = Buffer.alloc(0)] = (await stored()).objects.values()
    const end = 4 + content.readUInt32BE()
    const head = JSON.parse(content.toString('utf8', 4, end)) as Record<string, unknown>
    const { rawBytes, encryption } = head
    const store = new MemoryStore()
    const older = framed(writeStored({ formatVersion: 1, rawBytes, encryption }))
    store.objects.set(storeKey, Buffer.concat([older, content.subarray(end)]))
    await expect(read(store, { key: new KeyRing([one], { takesPlain: true }) })).rejects.toThrow(
      'part 1 is not what was stored',
    )
    expect(head['formatVersion']).toBe(2)
  })

  it('is refused without its key, and says which', async () => {
    const store = await stored()
    await expect(read(store, { key: null })).rejects.toThrow(/is encrypted with key [0-9a-f]{16}: give the file/)
    await expect(read(store, { key: new KeyRing([other]) })).rejects.toMatchObject({ code: 'REGENT_REFUSED' })
    expect((await read(store, { key: new KeyRing([other, one]) })).equals(raw)).toBe(true)
  })

  it('that is plain is refused where a key is given, unless that is allowed', async () => {
    const store = await stored(raw, null)
    await expect(read(store)).rejects.toThrow(
      /piece .*binlog.000001.* is not encrypted, and a key is given: .*--allow-plain/,
    )
    expect((await read(store, { key: new KeyRing([one], { takesPlain: true }) })).equals(raw)).toBe(true)
  })

  it('of another key is named before anything is downloaded', async () => {
    const plan = { backup: aManifest(), steps: [{ piece, gtids: gtidsOf(piece) }] }
    const ring = (...keys: readonly [Buffer, ...Buffer[]]) => ({ key: new KeyRing(keys) })
    const store = await stored()
    await requireKeys(plan, { store, ...ring(other, one) })
    await expect(requireKeys(plan, { store, ...ring(other) })).rejects.toThrow(
      `is encrypted with ${keyIdOf(one)} too (piece ${pieceName(piece)}), and given is ${keyIdOf(other)}: write all keys`,
    )
    await expect(requireKeys(plan, { store, key: null })).rejects.toThrow('and no key is given')
    const plain = await stored(raw, null)
    await expect(requireKeys(plan, { store: plain, ...ring(one) })).rejects.toThrow('is not encrypted')
    await requireKeys(plan, { store: plain, key: null })
  })
})
