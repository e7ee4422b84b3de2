import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FrameReader, type Frame } from './frames.ts'
import { operations } from './messages.ts'
import { answerBody, framedAs } from './testing.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const version = framedAs(Buffer.alloc(0), { type: 2 })
const reply = answerBody({ operation: operations.clientReply })
const uncalled = answerBody({ operation: 8 })
const unreadable = (why: RegExp) =>
  expect.objectContaining({ code: 'REGENT_GROUP_PROTOCOL', message: expect.stringMatching(why) as string }) as Error

describe('A stream of a member', () => {
  it('is cut into the same messages wherever it is torn', () => {
    const stream = Buffer.concat([version, framedAs(reply), framedAs(uncalled), framedAs(uncalled), framedAs(reply)])
    const whole = new FrameReader().push(stream)
    expect(whole).toEqual([
      { kind: 'version', version: 10 },
      { kind: 'message', operation: 22, body: reply },
      { kind: 'message', operation: 22, body: reply },
    ])
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: stream.length }), { maxLength: 12 }), (cuts) => {
        const ends = [...cuts.toSorted((a, b) => a - b), stream.length]
        const reader = new FrameReader()
        const frames: Frame[] = []
        let at = 0
        for (const end of ends) {
          frames.push(...reader.push(stream.subarray(at, end)))
          at = end
        }
        expect(frames).toEqual(whole)
        expect(reader.skipped).toBe(2 * framedAs(uncalled).length)
      }),
    )
  })

  it('takes no memory for what nobody asked for, though it be four gigabytes', () => {
    const reader = new FrameReader()
    reader.push(framedAs(uncalled, { length: 0xffff_ffff }))
    const chunk = Buffer.alloc(1_048_576)
    const before = process.memoryUsage().arrayBuffers
    for (let sent = 0; sent < 4_000; sent++) expect(reader.push(chunk)).toEqual([])
    expectBelow(16 * chunk.length, process.memoryUsage().arrayBuffers - before)
    expect(reader.skipped).toBe(12 + uncalled.length + 4_000 * chunk.length)
  })

  it.each([
    ['of another version', framedAs(reply, { version: 9 }), /version 9, not 10/],
    ['that is a question of versions', framedAs(Buffer.alloc(0), { type: 1 }), /type 1/],
    ['of a type that nobody knows', framedAs(reply, { type: 77 }), /type 77/],
    ['that is an answer about versions with a body', framedAs(reply, { type: 2 }), /type 2 and 128 bytes/],
    ['too short to say what it is', framedAs(Buffer.alloc(51)), /announces 51 bytes/],
    ['that announces more than an answer can have', framedAs(reply, { length: 4_097 }), /4097 bytes, at most 4096/],
    [
      'that announces more than a snapshot can have',
      framedAs(answerBody({ operation: operations.snapshot }), { length: 0x7fff_ffff }),
      /at most 1048576/,
    ],
    ['of another protocol', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), /no stream of XCom/],
  ])('is refused with a message %s', (_, bytes, why) => {
    expect(() => new FrameReader().push(bytes)).toThrow(unreadable(why))
  })
})
