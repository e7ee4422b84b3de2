import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { begunBy, isGtidEvent } from './gtid-event.ts'
import { segmentsOf, type Segment } from './segments.ts'

/** An event as it stands in a binlog. */
function event(type: number, body: number, serverId = 7): Buffer {
  const bytes = Buffer.alloc(19 + body, type)
  bytes.writeUInt8(type, 4)
  bytes.writeUInt32LE(serverId, 5)
  bytes.writeUInt32LE(bytes.length, 9)
  return bytes
}

function inChunks(bytes: Buffer, length: number): AsyncIterable<Buffer> {
  const count = Math.ceil(bytes.length / length)
  return Readable.from(Array.from({ length: count }, (_, at) => bytes.subarray(at * length, (at + 1) * length)))
}

async function all(content: AsyncIterable<Uint8Array>): Promise<Segment[]> {
  const segments: Segment[] = []
  for await (const segment of segmentsOf(content)) segments.push(segment)
  return segments
}

const [small, large, last] = [event(33, 60), event(30, 200_000, 9), event(16, 12)]
const stream = Buffer.concat([small, large, last])

describe('the events of a binlog that comes as a stream', () => {
  it.each([1_000_000, 65_536, 4_096, 7])('are the same in chunks of %i bytes', async (length) => {
    const segments = await all(inChunks(stream, length))
    expect(Buffer.concat(segments.map(({ bytes }) => bytes)).equals(stream)).toBe(true)
    const begun = segments.filter(({ begins }) => begins)
    expect(begun.map(({ event }) => [event.type, event.serverId, event.length])).toEqual([
      [33, 7, 79],
      [30, 9, 200_019],
      [16, 7, 31],
    ])
    expect(segments.filter(({ ends }) => ends)).toHaveLength(3)
    expect(begun[0]?.bytes.length).toBe(79)
    expect(begun[2]?.bytes.length).toBe(31)
  })

  it('that end within an event are refused', async () => {
    for (const cut of [10, 90, 150_000, stream.length - 1])
      await expect(all(inChunks(stream.subarray(0, cut), 1_000))).rejects.toMatchObject({
        code: 'REGENT_BINLOG_UNREADABLE',
      })
  })

  it('that have a length which no event has are refused', async () => {
    const bad = event(30, 20)
    bad.writeUInt32LE(18, 9)
    await expect(all(inChunks(bad, 100))).rejects.toThrow('18 bytes')
  })
})

describe('a GTID event tells when its transaction was committed', () => {
  const head = (type: number, hex: string): Buffer => {
    const body = Buffer.from(hex.replaceAll(' ', ''), 'hex')
    return Buffer.concat([event(type, body.length).subarray(0, 19), body])
  }
  const source = '1cb8e8f7e59311f1915102fc00000001'
  const plain = `01 ${source} 1700000000000000 02 0000000000000000 0100000000000000`

  it('as MySQL 9.7 wrote it on the server where the transaction began', () => {
    const begun = begunBy(head(33, `${plain} 6f907184c66006 cd 50620100`))
    expect(begun.number).toBe(23)
    expect(new Date(begun.committedMs).getUTCFullYear()).toBe(2026)
  })

  it('by the clock of the first server where another one wrote it', () => {
    const immediate = '6f907184c66086'
    expect(begunBy(head(33, `${plain} ${immediate} 40420f00000000 cd`)).committedMs).toBe(1_000)
  })

  it('with a tag too', () => {
    const tagged =
      '02 74 00 00 02 02 38 e102 a103 dd03 9503 4d02 22 c503 4502 a204 f103 00 00 00 02 04 04 06 08 74616778 08 04 0a 0c 0c 7f34a37184c66006 1069041283120b7ef4'
    const begun = begunBy(head(42, tagged))
    expect(begun.source).toMatch(/:tagx$/)
    expect(new Date(begun.committedMs).getUTCFullYear()).toBe(2026)
    expect([33, 34, 42].map(isGtidEvent)).toEqual([true, false, true])
  })
})
