import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { MemoryStore } from '#object-store/testing-store.ts'
import { binlogFile, dml, uuid } from '#test/support/synthetic-binlog.ts'
import { keyOf } from '../keys.ts'
import { gtidsOf, pieceName, type Piece } from '../piece-name.ts'
import { KeyRing } from '../stream/key-ring.ts'
import { keyIdOf } from '../stream/data-key.ts'
import { aManifest, aPiece, startMs } from '../testing.ts'
import { pieceObject } from './piece-object.ts'
import { readPiece } from './read-piece.ts'
import { requireKeys } from './require-keys.ts'

const [one, other] = [randomBytes(32), randomBytes(32)]
const key = new KeyRing([one])
const times = [startMs, startMs + 10, startMs + 20]
const whole = binlogFile(times.flatMap((ms, at) => dml(at + 5, 90_000, ms)))
const raw = whole.subarray(4)
const piece = aPiece({ source: uuid, from: 5, to: 7, firstMs: startMs, lastMs: startMs + 20 })
const storeKey = keyOf({ kind: 'piece', cluster: 'shop', piece })

async function stored(content: Buffer = raw, encryptedWith: KeyRing | null = key): Promise<MemoryStore> {
  const store = new MemoryStore()
  await store.put(storeKey, pieceObject({ rawBytes: content.length, content: Readable.from([content]) }, encryptedWith))
  return store
}

async function read(store: MemoryStore, given: { readonly piece?: Piece; readonly key?: KeyRing | null } = {}) {
  const parts: Buffer[] = []
  for await (const { bytes } of readPiece({ store, cluster: 'shop', piece, key, ...given })) parts.push(bytes)
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

  it('that holds other transactions than its name says is refused', async () => {
    const content = await stored()
    for (const other of [{ to: 6 }, { to: 8 }, { from: 4 }, { firstMs: startMs + 1 }, { lastMs: startMs + 19 }]) {
      const named = aPiece({ ...piece, ...other })
      const store = new MemoryStore()
      store.objects.set(
        keyOf({ kind: 'piece', cluster: 'shop', piece: named }),
        [...content.objects.values()][0] ?? Buffer.alloc(0),
      )
      await expect(read(store, { piece: named })).rejects.toMatchObject({ code: 'REGENT_BACKUP_UNUSABLE' })
    }
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
