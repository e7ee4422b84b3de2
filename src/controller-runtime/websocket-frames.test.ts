import { expect, test } from 'vitest'
import { frameOf, MessageReader, opcodes } from './websocket-frames.ts'

const bytes = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

// The examples of RFC 6455 §5.7.
test('what a client sends is masked as the RFC shows', () => {
  expect(frameOf(opcodes.text, Buffer.from('Hello'), bytes('37 fa 21 3d'))).toEqual(bytes('81 85 37 fa 21 3d 7f 9f 4d 51 58'))
})

test.each([
  ['unmasked', '81 05 48 65 6c 6c 6f', opcodes.text, 'Hello'],
  ['masked', '81 85 37 fa 21 3d 7f 9f 4d 51 58', opcodes.text, 'Hello'],
  ['in two frames', '01 03 48 65 6c 80 02 6c 6f', opcodes.text, 'Hello'],
  ['a ping', '89 05 48 65 6c 6c 6f', opcodes.ping, 'Hello'],
])('a message that is %s is read as the RFC shows, also byte by byte', (_how, hex, opcode, text) => {
  const message = { opcode, payload: Buffer.from(text) }
  expect(new MessageReader().push(bytes(hex))).toEqual([message])
  const slow = new MessageReader()
  expect([...bytes(hex)].flatMap((byte) => slow.push(Uint8Array.of(byte)))).toEqual([message])
})

test.each([125, 126, 65_535, 65_536])('a message of %d bytes comes out as it went in, and the next one after it', (length) => {
  const [payload, next] = [Buffer.alloc(length, 'regent'), Buffer.from('next')]
  const stream = Buffer.concat([frameOf(opcodes.binary, payload), frameOf(opcodes.binary, next, undefined)])
  const read = new MessageReader().push(stream)
  expect([payload, next].map((one, at) => read[at]?.payload.equals(one))).toEqual([true, true])
})

test('a ping between the frames of a message does not end it', () => {
  const read = new MessageReader().push(bytes('02 01 61 89 00 80 01 62'))
  expect(read.map(({ opcode, payload }) => [opcode, payload.toString()])).toEqual([[opcodes.ping, ''], [opcodes.binary, 'ab']])
})

test.each([
  ['longer than any that is expected', '82 7f 00 00 00 01 00 00 00 00'],
  ['compressed, which nobody asked for', 'c1 00'],
  ['the rest of nothing', '80 00'],
])('a frame that is %s is refused', (_what, hex) => {
  expect(() => new MessageReader().push(bytes(hex))).toThrow(/WebSocket/)
})
