import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { decodeAnswer } from './decode.ts'
import { operations } from './messages.ts'
import { aConfiguration, aMember, answerBody, snapshotBytes } from './testing.ts'

/** A client’s answer, written by hand: OK, delivered (9, 1) with the newest (10, 2), horizon 10. */
const reply = Buffer.from(
  [
    'ffffffff ffffffff 00000000', // to, from, group_id
    '4317e324 000000000000000a 00000002', // max_synode
    '00000000', // start_type
    '00000000 00000000 00000000 00000000', // reply_to, proposal
    '00000016', // xcom_client_reply
    '00000000 0000000000000000 00000000', // synode
    '00000000 00000000 00000000', // msg_type, receivers, app_data
    '00000000 00000000', // snap, gcs_snap
    '00000000', // cli_err
    '00000000 00000001', // force_delivery, refcnt
    '4317e324 0000000000000009 00000001', // delivered_msg
    '0000000a 00000000 00000000', // event_horizon, requested_synode_app_data, rd
  ]
    .join('')
    .replaceAll(' ', ''),
  'hex',
)

/** A copy with one byte more, less, or another. */
function changed(bytes: Buffer, at: number, value: number): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt32BE(value, at)
  return copy
}

const members = [aMember(33061), aMember(33062), aMember(33063)]
const older = aConfiguration(members.slice(1))
const newer = aConfiguration(members, { start: { group: 7, message: 99n, node: 0 }, mostLeaders: 1 })
const snapshot = answerBody({ operation: operations.snapshot, snapshot: snapshotBytes([older, null, newer]) })

const unreadable = (why: RegExp) =>
  expect.objectContaining({ code: 'REGENT_GROUP_PROTOCOL', message: expect.stringMatching(why) as string }) as Error

describe('An answer of 128 bytes', () => {
  it('says how far the member is, and in which group', () => {
    expect(reply).toHaveLength(128)
    expect(decodeAnswer(reply)).toEqual({
      kind: 'reply',
      answer: 'ok',
      newest: { group: 0x4317e324, message: 10n, node: 2 },
      delivered: { group: 0x4317e324, message: 9n, node: 1 },
      eventHorizon: 10,
    })
  })

  it.each([
    [1, 'fail'],
    [2, 'retry'],
    [3, 'redirect'],
  ])('with code %i says %s', (code, answer) => {
    expect(decodeAnswer(changed(reply, 88, code))).toMatchObject({ answer })
  })

  it.each([
    ['of another operation', changed(reply, 48, 12), /operation 12/],
    ['with a code that nobody knows', changed(reply, 88, 4), /answer 4/],
    ['with application data', changed(reply, 76, 1), /application data/],
    ['with a snapshot of old kind', changed(reply, 80, 1), /old kind/],
    ['with a pointer that is neither there nor not', changed(reply, 84, 2), /neither yes nor no/],
    ['with messages of the log', changed(reply, 120, 1), /1 messages are announced, and 4 bytes are left|log/],
    ['with leaders', changed(reply, 124, 1), /leaders/],
    ['with receivers beyond its end', changed(reply, 72, 1), /needs|left/],
    [
      'with four billion receivers',
      Buffer.concat([changed(reply, 72, 1).subarray(0, 76), Buffer.alloc(8, 0xff)]),
      /4294967295 receivers/,
    ],
    ['that ends early', reply.subarray(0, 127), /needs 4 bytes, and 3 are left/],
    ['that goes on', Buffer.concat([reply, Buffer.alloc(1)]), /1 bytes follow/],
  ])('%s is refused', (_, body, why) => {
    expect(() => decodeAnswer(body)).toThrow(unreadable(why))
  })
})

describe('A snapshot', () => {
  it('has the configurations with their members, and none for a null pointer', () => {
    expect(decodeAnswer(snapshot)).toMatchObject({
      kind: 'snapshot',
      logStart: { message: 40n },
      logEnd: { message: 60n, node: 2 },
      configurations: [older, newer],
    })
  })

  it('keeps every byte of an incarnation', () => {
    const odd = { address: 'a:1', incarnation: String.fromCharCode(0, 0xff, 0x80) }
    const body = answerBody({ operation: operations.snapshot, snapshot: snapshotBytes([aConfiguration([odd])]) })
    expect(decodeAnswer(body)).toMatchObject({ configurations: [{ members: [odd] }] })
  })

  it('is refused where an address or an incarnation is longer than any', () => {
    const long = { address: 'a'.repeat(513), incarnation: '1' }
    const body = answerBody({ operation: operations.snapshot, snapshot: snapshotBytes([aConfiguration([long])]) })
    expect(() => decodeAnswer(body)).toThrow(unreadable(/an address has 513 bytes/))
  })

  it('is refused where a client’s answer was announced, and the other way round', () => {
    expect(() => decodeAnswer(changed(snapshot, 48, operations.clientReply))).toThrow(unreadable(/operation 22/))
    expect(() => decodeAnswer(changed(reply, 48, operations.snapshot))).toThrow(unreadable(/operation 21/))
  })

  it('is refused wherever it is cut off', () => {
    for (let length = 0; length < snapshot.length; length++)
      expect(() => decodeAnswer(snapshot.subarray(0, length))).toThrow(unreadable(/cannot be read/))
  })

  it('with any word changed is read or refused, in no time and without any other error', () => {
    const anyChange = fc.tuple(
      fc.integer({ min: 0, max: snapshot.length / 4 - 1 }),
      fc.oneof(fc.integer({ min: 0, max: 0xffff_ffff }), fc.integer({ min: 0, max: 300 })),
    )
    fc.assert(
      fc.property(anyChange, ([word, value]) => {
        try {
          decodeAnswer(changed(snapshot, 4 * word, value))
        } catch (error) {
          expect(error).toBeInstanceOf(RegentError)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})
