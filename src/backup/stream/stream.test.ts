import { randomBytes, createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decoded, encoded } from './part-codec.ts'
import { inParts } from './in-parts.ts'
import { sized } from './sized.ts'
import { Tally } from './tally.ts'

const seed = 20_260_911
const key = createHash('sha256').update('a key').digest()
const mebibyte = 1_048_576

async function* chunksOf(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const blocks = Array.from({ length: 1_024 }, (_, at) => createHash('sha256').update(`${at}`).digest())
/** 1 MiB of 32 shuffled blocks: no compression makes much of that smaller, and it is the same in each run. */
const noisy = Buffer.concat(
  Array.from({ length: 32 }, (_, turn) => Buffer.concat(blocks.map((block) => block.map((byte) => byte ^ (turn * 7))))),
)

function noise(bytes: number): Buffer {
  return Buffer.concat(Array.from({ length: Math.ceil(bytes / noisy.length) }, () => noisy)).subarray(0, bytes)
}

const stored = (content: Buffer, of = { part: 1, key: key as Buffer | null }) => buffer(encoded(chunksOf(content), of))
const read = (bytes: Uint8Array, rawBytes: number, of = { part: 1, key: key as Buffer | null }) =>
  buffer(decoded(chunksOf(bytes, 10_007), { ...of, rawBytes }))

describe('A part of a backup', () => {
  it.each([0, 1, 1_000, mebibyte - 1, mebibyte, mebibyte + 1, 3 * mebibyte])(
    'comes back as it was: %i bytes',
    async (bytes) => {
      const content = noise(bytes)
      for (const of of [
        { part: 1, key },
        { part: 7, key: null },
      ])
        expect((await read(await stored(content, of), bytes, of)).equals(content)).toBe(true)
    },
  )

  it('gives no byte that was not stored, whichever byte is changed, and says so', async () => {
    const content = noise(2 * mebibyte + 500)
    const whole = await stored(content)
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const bytes = Buffer.from(whole)
        bytes[at] = (bytes[at] ?? 0) ^ flip
        await expect(read(bytes, content.length)).rejects.toThrow('part 1 is not what was stored')
      }),
      { seed, numRuns: 40 },
    )
  })

  it('that is cut off anywhere does not pass for a whole one, encrypted or not', async () => {
    const content = noise(mebibyte + 70_000)
    for (const of of [
      { part: 1, key },
      { part: 1, key: null },
    ]) {
      const whole = await stored(content, of)
      await fc.assert(
        fc.asyncProperty(fc.nat(whole.length - 1), async (length) => {
          await expect(read(whole.subarray(0, length), content.length, of)).rejects.toThrow()
        }),
        { seed, numRuns: 40 },
      )
    }
  })

  it('opens with no other key, and in no other place', async () => {
    const whole = await stored(noise(1_000))
    await expect(read(whole, 1_000, { part: 1, key: randomBytes(32) })).rejects.toThrow('or the key is another')
    await expect(read(whole, 1_000, { part: 2, key })).rejects.toThrow('part 2 is not what was stored')
  })

  it('whose chunks change places, or lack one, does not open', async () => {
    const whole = await stored(noise(3 * mebibyte))
    const chunks = [0, 1, 2, 3].map((at) => whole.subarray(at * (mebibyte + 16), (at + 1) * (mebibyte + 16)))
    const [first, second, third, last] = chunks as [Buffer, Buffer, Buffer, Buffer]
    for (const order of [
      [second, first, third, last],
      [first, third, last],
      [first, second, third],
    ])
      await expect(read(Buffer.concat(order), 3 * mebibyte)).rejects.toThrow('is not what was stored')
  })

  it('ends with the failure of its source', async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield noise(100_000)
      throw new Error('the copy broke off')
    }
    await expect(buffer(encoded(failing(), { part: 1, key }))).rejects.toThrow('the copy broke off')
  })

  it('that is not encrypted and unpacks to more than was stored is no part', async () => {
    const whole = await stored(Buffer.alloc(mebibyte), { part: 1, key: null })
    await expect(read(whole, 1_000, { part: 1, key: null })).rejects.toThrow('more than the 1000 bytes')
  })
})

describe('A stream', () => {
  it('is cut into pieces that are the stream again, none of them empty', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 50 })),
        fc.integer({ min: 1, max: 120 }),
        async (lengths, bytes) => {
          const content = lengths.map((length, at) => Buffer.alloc(length, at))
          const pieces: Buffer[] = []
          for await (const piece of inParts(
            (async function* () {
              yield* content
            })(),
            bytes,
          ))
            pieces.push(await buffer(piece))
          expect(Buffer.concat(pieces).equals(Buffer.concat(content))).toBe(true)
          expect(pieces.every(({ length }) => length > 0 && length < bytes + 50)).toBe(true)
        },
      ),
      { seed, numRuns: 100 },
    )
  })

  it('comes in chunks of one size, but for the last', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(5_000), fc.integer({ min: 1, max: 700 }), async (length, bytes) => {
        const chunks: Buffer[] = []
        for await (const chunk of sized(chunksOf(noise(length), 333), bytes)) chunks.push(chunk)
        expect(Buffer.concat(chunks).equals(noise(length))).toBe(true)
        expect(chunks.slice(0, -1).every((chunk) => chunk.length === bytes)).toBe(true)
      }),
      { seed, numRuns: 60 },
    )
  })

  it('is counted and summed while it goes by', async () => {
    const tally = new Tally()
    await buffer(tally.watching(chunksOf(noise(100_000))))
    expect([tally.bytes, tally.sum()]).toEqual([100_000, createHash('sha256').update(noise(100_000)).digest('hex')])
  })
})
