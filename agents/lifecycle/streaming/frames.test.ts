import { createHash, randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Framer, preambleOf, Unframer, type Trailer } from './frames.ts'

const framing = 'ab'.repeat(16)
const preamble = Buffer.from(preambleOf(framing))

/** What comes out of an unframer for these bytes, cut anywhere. */
async function unframed(bytes: Buffer, cuts: readonly number[] = []): Promise<Buffer> {
  const unframer = new Unframer(framing)
  const output = buffer(unframer)
  let at = 0
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    unframer.write(bytes.subarray(at, cut))
    at = Math.max(at, cut)
  }
  unframer.end(bytes.subarray(at))
  return output
}

function framed(chunks: readonly Buffer[], failure = ''): Buffer {
  const framer = new Framer()
  const frames = chunks.filter((chunk) => chunk.length > 0).flatMap((chunk) => framer.frame(chunk))
  return Buffer.concat([preamble, ...frames, framer.trailer(failure)])
}

function lengthOf(length: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(length)
  return bytes
}

/** A stream of `data`, with this text where the trailer belongs. */
function endingWith(trailer: string): Buffer {
  const frame = Buffer.concat([lengthOf(data.length), data])
  return Buffer.concat([preamble, frame, lengthOf(0), Buffer.from(trailer)])
}

const data = Buffer.from('the data')
const whole: Trailer = {
  code: 0,
  message: '',
  bytes: data.length,
  sha256: createHash('sha256').update(data).digest('hex'),
}
const mebibyte = 1_048_576

describe('frames', () => {
  const chunks = fc.array(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    { maxLength: 8 },
  )

  it('give back what was put into them, wherever the stream is cut into pieces', async () => {
    await fc.assert(
      fc.asyncProperty(chunks, fc.array(fc.nat(2_000), { maxLength: 9 }), async (parts, cuts) => {
        const bytes = framed(parts)
        const inside = cuts.filter((cut) => cut < bytes.length)
        expect(await unframed(bytes, inside)).toEqual(Buffer.concat(parts))
      }),
    )
  })

  it('are an error wherever they break off, and where a byte of them is another', async () => {
    await fc.assert(
      fc.asyncProperty(chunks, fc.nat(), fc.integer({ min: 1, max: 255 }), async (parts, at, change) => {
        const bytes = framed(parts)
        const start = preamble.length
        const place = start + (at % (bytes.length - start))
        await expect(unframed(bytes.subarray(0, place))).rejects.toThrow()
        const changed = Buffer.from(bytes)
        changed[place] = (changed[place] ?? 0) ^ change
        const result = await unframed(changed).catch(() => 'refused')
        // White space or another word of the trailer may be another; the data never.
        if (result !== 'refused') expect(result).toEqual(Buffer.concat(parts))
      }),
    )
  })

  it('hand on anything that does not begin as they do', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.array(fc.nat(200)), async (bytes, cuts) => {
        fc.pre(!preamble.subarray(0, bytes.length).equals(bytes))
        expect(await unframed(Buffer.from(bytes), cuts)).toEqual(Buffer.from(bytes))
      }),
    )
  })

  it('tell why the source failed', async () => {
    await expect(unframed(framed([randomBytes(10)], 'disk full'))).rejects.toThrow('the source failed: disk full')
  })
})

describe('the limits of a stream', () => {
  it.each([0xff_ff_ff_ff, 0x80_00_00_00, 16 * mebibyte + 1])(
    'end the stream where a frame of %d bytes is announced, before any of them came',
    async (length) => {
      const bytes = Buffer.concat([preamble, lengthOf(length)])
      await expect(unframed(bytes)).rejects.toThrow(`a frame of ${length} bytes is longer than any`)
    },
  )

  it('let the longest frame through', async () => {
    const longest = Buffer.alloc(16 * mebibyte, 'x')
    expect((await unframed(framed([longest]))).equals(longest)).toBe(true)
  })

  it('end the stream where the line at its end does not end', async () => {
    const unframer = new Unframer(framing)
    const failed = buffer(unframer)
    unframer.write(endingWith(`{"message":"${'x'.repeat(16 * 1024)}`))
    // The stream itself goes on.
    await expect(failed).rejects.toThrow('the end of the stream is not understood')
  })

  it.each([
    ['longer than any', JSON.stringify({ ...whole, more: 'x'.repeat(16 * 1024) })],
    ['no JSON', 'done'],
    ['no object', '0'],
    ['nothing', 'null'],
    ['a list', '[]'],
    ['without a code', JSON.stringify({ ...whole, code: undefined })],
    ['of another code', JSON.stringify({ ...whole, code: 7 })],
    ['without a message', JSON.stringify({ code: -1 })],
  ])('end the stream where the line at its end is %s', async (_what, line) => {
    await expect(unframed(endingWith(`${line}\n`))).rejects.toThrow('the end of the stream is not understood')
  })

  it.each([
    ['more bytes', { bytes: data.length + 1 }],
    ['fewer bytes', { bytes: data.length - 1 }],
    ['another checksum', { sha256: whole.sha256.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) }],
  ])('end the stream where its end tells of %s', async (_what, other) => {
    expect(await unframed(endingWith(`${JSON.stringify(whole)}\n`))).toEqual(data)
    const line = `${JSON.stringify({ ...whole, ...other })}\n`
    await expect(unframed(endingWith(line))).rejects.toThrow(
      /the 8 bytes that came are not the \d bytes that were sent/,
    )
  })

  it('end the stream where it goes on after its end, at once or later', async () => {
    const bytes = Buffer.concat([framed([data]), Buffer.from('\n')])
    for (const cuts of [[], [bytes.length - 1]])
      await expect(unframed(bytes, cuts)).rejects.toThrow('the stream goes on after its end')
  })

  it('take a part of the first line for no data', async () => {
    for (const length of [1, preamble.length - 1])
      await expect(unframed(preamble.subarray(0, length))).rejects.toThrow('the stream broke off after 0 bytes')
    await expect(unframed(preamble)).rejects.toThrow('the stream broke off after 0 bytes')
  })
})
