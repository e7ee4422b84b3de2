import { once } from 'node:events'
import { createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { fromBinary } from '@bufbuild/protobuf'
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { saidBy, testingActions } from '../testing.ts'
import { registryOf } from './descriptors.ts'
import * as values from './values.ts'

/** One field of bytes, of a number, and so on: a message is some of these in a row. */
const part = (number: number, ...bytes: readonly Uint8Array[]) =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(Buffer.concat(bytes)).finish()
const count = (number: number, value: number) => new BinaryWriter().tag(number, WireType.Varint).int32(value).finish()
const writeText = (number: number, text: string) => part(number, Buffer.from(text))

/** Types by their numbers in descriptor.proto, as fields of one message. */
const types = { double: 1, float: 2, int64: 3, uint64: 4, int32: 5, fixed64: 6, fixed32: 7, bool: 8, text: 9 } as const
const more = { bytes: 12, uint32: 13, sfixed32: 15, sfixed64: 16, sint32: 17, sint64: 18, nested: 11 } as const
const all = Object.entries({ ...types, ...more })

const field = (name: string, number: number, type: number, typeName = '') =>
  part(2, writeText(1, name), count(3, number), count(5, type), writeText(6, typeName))

/** The message of which a map is a list: a key, which is a text here, and a value. */
const mapEntry = (name: string, value: number) =>
  part(3, writeText(1, name), field('key', 1, types.text), field('value', 2, value), part(7, count(7, 1)))

const kind = part(
  5,
  writeText(1, 'Kind'),
  part(2, writeText(1, 'NONE')),
  part(2, writeText(1, 'PRIMARY'), count(2, 1)),
  part(2, writeText(1, 'LOST'), count(2, -1)),
)

/** What a compiler makes of a .proto file: package shop, message All, and service Roles with two methods. */
const file = Buffer.concat([
  writeText(1, 'shop.proto'),
  writeText(2, 'shop'),
  part(
    4,
    writeText(1, 'All'),
    ...all.map(([name, type], at) => field(name, at + 1, type, name === 'nested' ? '.shop.All' : '')),
    field('kind_of', 30, 14, 'Kind'),
    field('full_kind', 31, 14, '.shop.Kind'),
    field('labels', 32, 11, '.shop.All.LabelsEntry'),
    field('counts', 33, 11, 'CountsEntry'),
    mapEntry('LabelsEntry', types.text),
    mapEntry('CountsEntry', types.int32),
  ),
  kind,
  part(
    6,
    writeText(1, 'Roles'),
    part(2, writeText(1, 'Get'), writeText(2, '.shop.All'), writeText(3, 'All')),
    part(2, writeText(1, 'Watch'), writeText(2, 'All'), writeText(3, 'All'), count(6, 1)),
  ),
])

/** A service alone: its messages are in a file that it imports, and another import is nobody's. */
const otherFile = Buffer.concat([
  writeText(1, 'other.proto'),
  writeText(2, 'shop'),
  writeText(3, 'nobodys.proto'),
  writeText(3, 'shop.proto'),
  part(6, writeText(1, 'Other'), part(2, writeText(1, 'Get'), writeText(2, '.shop.All'), writeText(3, 'All'))),
])

const known = registryOf(new Map([['shop.proto', fromBinary(FileDescriptorProtoSchema, file)]]))
const typeOf = (name: string) => known.getMessage(name) ?? expect.fail(`${name} is not known`)
const encodeMessage = (_: typeof known, type: string, texts: values.Texts) => values.encodeMessage(typeOf(type), texts)
const decodeField = (_: typeof known, message: { readonly type: string; readonly bytes: Buffer }, name: string) =>
  values.decodeField(typeOf(message.type), message.bytes, name)

describe('a value of a gRPC field', () => {
  const integer = (bits: number) =>
    fc.bigInt({ min: -(2n ** BigInt(bits - 1)), max: 2n ** BigInt(bits - 1) - 1n }).map(String)
  const natural = (bits: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n }).map(String)
  const finite = { noNaN: true, noDefaultInfinity: true }

  it.each([
    ['double', fc.double(finite).map(String)],
    ['float', fc.float(finite).map(String)],
    ['int64', integer(64)],
    ['uint64', natural(64)],
    ['int32', integer(32)],
    ['fixed64', natural(64)],
    ['fixed32', natural(32)],
    ['bool', fc.constantFrom('true', 'false')],
    ['text', fc.string({ unit: 'grapheme' })],
    ['bytes', fc.string({ unit: 'grapheme' })],
    ['uint32', natural(32)],
    ['sfixed32', integer(32)],
    ['sfixed64', integer(64)],
    ['sint32', integer(32)],
    ['sint64', integer(64)],
    ['kind_of', fc.constantFrom('NONE', 'PRIMARY', 'LOST', '7')],
    ['fullKind', fc.constantFrom('PRIMARY', '-3')],
  ])('of type %s comes back as what was sent', (name, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        const bytes = encodeMessage(known, 'shop.All', { [name]: text })
        const back = decodeField(known, { type: 'shop.All', bytes }, name).toString()
        expect(back).toBe(text === 'NONE' ? '' : text)
      }),
    )
  })

  it.each([
    ['int32', '0'],
    ['sint64', '0'],
    ['fixed32', '0'],
    ['double', '0'],
    ['bool', 'false'],
    ['text', ''],
    ['kind_of', ''],
  ])('that a server does not send is the default of its type: of %s "%s"', (name, text) => {
    expect(decodeField(known, { type: 'shop.All', bytes: Buffer.alloc(0) }, name).toString()).toBe(text)
  })

  it('of a map is a JSON object of texts', () => {
    const texts = { labels: '{"tier":"größe","empty":""}', counts: '{"a":"1"}' }
    const entry = (number: number, key: string, value: Uint8Array) => part(number, writeText(1, key), value)
    expect(encodeMessage(known, 'shop.All', texts)).toEqual(
      Buffer.concat([
        entry(32, 'tier', writeText(2, 'größe')),
        entry(32, 'empty', writeText(2, '')),
        entry(33, 'a', count(2, 1)),
      ]),
    )
  })

  it('of a switch is what Go takes for one', () => {
    for (const [text, is] of [
      ['T', 'true'],
      ['1', 'true'],
      ['FALSE', 'false'],
      ['0', 'false'],
    ] as const) {
      const bytes = encodeMessage(known, 'shop.All', { bool: text })
      expect(decodeField(known, { type: 'shop.All', bytes }, 'bool').toString()).toBe(is)
    }
  })

  it.each([
    ['int32', '2147483648', 'field int32 is "2147483648"; allowed is an integer'],
    ['uint32', '-1', 'field uint32 is "-1"; allowed is a positive integer'],
    ['double', 'x', 'field double is "x"; allowed is a number'],
    ['bool', 'yes', 'field bool is "yes"; allowed is true or false'],
    ['labels', 'a=b', 'field labels is "a=b"; allowed is a JSON object of texts'],
    ['labels', '{"a":1}', 'field labels is "{\\"a\\":1}"; allowed is a JSON object of texts'],
    ['counts', '{"a":"x"}', 'field value is "x"; allowed is an integer'],
    ['kind_of', 'BOSS', 'field kind_of is "BOSS"; allowed is NONE, PRIMARY, LOST'],
    ['nested', '{}', 'field nested is a message, which a text cannot be'],
    ['nix', '', /^shop\.All has no field "nix"; there are double, float/],
  ])('that does not fit is refused: %s %s', (name, text, sentence) => {
    expect(() => encodeMessage(known, 'shop.All', { [name]: text })).toThrow(sentence)
  })
})

it('Bytes that are no message are refused, and never end in anything but an error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        decodeField(known, { type: 'shop.All', bytes: Buffer.from(bytes) }, 'text')
      } catch (error) {
        expect((error as Error).message).toMatch(/^the answer is no shop\.All: /)
      }
    }),
  )
  const bytes = Buffer.from([0x4a, 5, 1])
  expect(() => decodeField(known, { type: 'shop.All', bytes }, 'text')).toThrow(
    'the answer is no shop.All: premature EOF',
  )
})

interface Behaviour {
  /** Which reflection service there is. */
  readonly reflection?: string
  readonly answer?: (stream: ServerHttp2Stream, message: Buffer) => void
}

/** A gRPC server with reflection. Its own method answers as told. */
async function aServer({ reflection = 'grpc.reflection.v1.ServerReflection', answer = echo }: Behaviour = {}) {
  const server = createServer()
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    void buffer(stream).then((body) => {
      const message = body.subarray(5)
      const path = headers[':path'] ?? ''
      if (path === `/${reflection}/ServerReflectionInfo`) {
        const request = new BinaryReader(message)
        request.tag()
        return reflect(stream, request.string())
      }
      if (path === '/shop.Roles/Get' || path === '/shop.Other/Get') return answer(stream, message)
      // As a server does that refuses at once.
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' }, { endStream: true })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return String((server.address() as AddressInfo).port)
}

function reflect(stream: ServerHttp2Stream, symbol: string): void {
  const found = symbol === 'shop.Other' ? otherFile : ['shop.Roles', 'shop.proto'].includes(symbol) ? file : undefined
  send(stream, found ? part(4, part(1, found)) : part(7, count(1, 5), writeText(2, `no ${symbol}`)))
}

function send(stream: ServerHttp2Stream, message: Uint8Array, status = '0', words = ''): void {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.length, 1)
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status, 'grpc-message': words }))
  stream.end(status === '0' ? Buffer.concat([prefix, message]) : '')
}

function echo(stream: ServerHttp2Stream, message: Buffer): void {
  send(stream, message)
}

const call = (grpc: object, request: object = {}) =>
  testingActions([{ name: 'a', grpc: { port: '1', service: 'shop.Roles', method: 'Get', ...grpc } }], {
    environment: { POD: 'shop-0' },
  }).desk.call({ action: 'a', ...request })

describe('a gRPC action', () => {
  const response = { message: 'text', status: 'bytes' }

  it.each(['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'])(
    'gives the field that is its output, of a server with %s',
    async (reflection) => {
      const port = await aServer({ reflection })
      const request = { text: 'role of {{ .POD }} for {{ .WHO }}' }
      expect(saidBy(await call({ port, request, response }, { parameters: { WHO: 'é' } }))).toBe('role of shop-0 for é')
    },
  )

  it('finds messages in files that the file of its service imports', async () => {
    const port = await aServer()
    expect(saidBy(await call({ port, service: 'shop.Other', request: { text: 'there' }, response }))).toBe('there')
  })

  it('fails where the field of its status is not empty', async () => {
    const port = await aServer()
    expect(saidBy(await call({ port, request: { text: 'why', bytes: 'ERR' }, response }))).toBe(
      'grpc call failed, status: ERR, message: why: failed',
    )
  })

  it.each([
    [{ message: 'int32' }, '0'],
    [{ message: 'bool' }, 'false'],
    [{ status: 'text' }, ''],
    [{ status: 'int32' }, 'grpc call failed, status: 0: failed'],
    [{ status: 'int32', message: 'text' }, 'grpc call failed, status: 0: failed'],
  ])('judges and gives what the server leaves out by the default of its type: %j', async (fields, said) => {
    const port = await aServer({ answer: (stream) => send(stream, Buffer.alloc(0)) })
    expect(saidBy(await call({ port, response: fields }))).toBe(said)
  })

  it.each([
    [{ method: 'Nix' }, 'grpc call failed, error: shop.Roles has no method Nix: failed'],
    [{ service: 'shop.Nix' }, 'grpc call failed, error: the server knows no shop.Nix: no shop.Nix: failed'],
    [{ method: 'Watch' }, 'shop.Roles/Watch is a stream; a gRPC action is one message: badRequest'],
    [{ request: { int32: 'x' } }, 'field int32 is "x"; allowed is an integer: badRequest'],
    [{ response: { message: 'nix' } }, 'shop.All has no field "nix": badRequest'],
    [{ request: { text: '{{ .NIX }}' } }, 'grpc.request.text: NIX has no value: badRequest'],
    [
      { request: { text: '{{ env "X" }}' } },
      /^grpc\.request\.text: the template .* only \{\{ \.NAME \}\} is: notImplemented$/,
    ],
    [{ port: '1' }, 'grpc call failed, error: connect ECONNREFUSED 127.0.0.1:1: failed'],
  ])('fails with a sentence: %j', async (more, sentence) => {
    const said = saidBy(await call({ port: await aServer(), ...more }))
    if (typeof sentence === 'string') expect(said).toBe(sentence)
    else expect(said).toMatch(sentence)
  })

  it('fails with code and words of the server, and without reflection', async () => {
    const answer = (stream: ServerHttp2Stream): void => send(stream, Buffer.alloc(0), '9', 'not%20yet: 100%25')
    expect(saidBy(await call({ port: await aServer({ answer }) }))).toBe(
      'grpc call failed, code: 9, message: not yet: 100%: failed',
    )
    expect(saidBy(await call({ port: await aServer({ reflection: 'none' }) }))).toBe(
      'grpc call failed, error: the server has no reflection service, without which its messages are not known: failed',
    )
  })

  it('is given up when its time is over', async () => {
    const port = await aServer({ answer: () => undefined })
    expect(await call({ port }, { timeoutSeconds: 1 })).toEqual({ ok: false, error: 'timedOut', message: 'timedOut' })
  })
})
