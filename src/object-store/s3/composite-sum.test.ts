import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compositeSum, ReadingSum } from './composite-sum.ts'
import { PartReader } from './part-reader.ts'
import { partBytes } from './part-plan.ts'

const plan = { firstBytes: 10, steady: 3, step: 2 }

/** In pieces of these lengths, again and again. */
async function* inPieces(content: Uint8Array, lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, turn = 0; at < content.length; turn += 1) {
    const length = lengths[turn % lengths.length] ?? 1
    yield content.subarray(at, at + length)
    at += length
  }
}

describe('The checksum of an object', () => {
  it('of one part is that of its content', () => {
    const sum = new ReadingSum(undefined)
    for (const text of ['a', '', 'bc']) sum.update(Buffer.from(text))
    expect(sum.end()).toBe(createHash('sha256').update('abc').digest('base64'))
  })

  it('is the same for who writes the parts and who reads the whole, however both are cut', async () => {
    const pieces = fc
      .array(fc.integer({ min: 0, max: 40 }), { minLength: 1 })
      .filter((all) => all.some((one) => one > 0))
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 11, maxLength: 300 }),
        pieces,
        pieces,
        async (content, one, other) => {
          const reader = new PartReader(inPieces(content, one), undefined)
          const [written, digests]: [Buffer[], Buffer[]] = [[], []]
          for (let number = 1, isLast = false; !isLast; number += 1) {
            const part = await reader.read(partBytes(plan, number))
            expect(part.isLast || part.content.length === partBytes(plan, number)).toBe(true)
            expect(part.content.length).toBeGreaterThan(0)
            written.push(Buffer.from(part.content))
            digests.push(part.digest)
            isLast = part.isLast
            if (number % 2 === 0) reader.giveBack(part)
          }
          expect(Buffer.concat(written)).toEqual(Buffer.from(content))
          const sum = new ReadingSum(plan)
          for await (const piece of inPieces(content, other)) sum.update(piece)
          expect(sum.end()).toBe(compositeSum(digests))
        },
      ),
    )
  })
})
