/** The wire format of protocol buffers, as much as gRPC actions need: https://protobuf.dev/programming-guides/encoding. */

/** What stands in a message, by kind of coding. */
export type WireValue =
  | { readonly wire: 'varint'; readonly number: bigint }
  /** Eight or four bytes, the least first. */
  | { readonly wire: 'fixed64' | 'fixed32'; readonly bytes: Buffer }
  | { readonly wire: 'bytes'; readonly bytes: Buffer }

export interface WireField {
  readonly number: number
  readonly value: WireValue
}

/** The fields of a message in their order. Throws for what is no message. */
export function readFields(message: Buffer): readonly WireField[] {
  const fields: WireField[] = []
  const reader = new Reader(message)
  while (reader.left > 0) {
    const tag = reader.varint()
    fields.push({ number: Number(tag >> 3n), value: reader.value(Number(tag & 7n)) })
  }
  return fields
}

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  varint(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#take(1)[0] ?? 0
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw new Error('a number of the message has no end')
  }

  value(kind: number): WireValue {
    switch (kind) {
      case 0:
        return { wire: 'varint', number: this.varint() }
      case 1:
        return { wire: 'fixed64', bytes: this.#take(8) }
      case 2:
        return { wire: 'bytes', bytes: this.#take(Number(this.varint())) }
      case 5:
        return { wire: 'fixed32', bytes: this.#take(4) }
      default:
        throw new Error(`the message has a field of kind ${kind}, which is not known`)
    }
  }

  #take(length: number): Buffer {
    if (length > this.left) throw new Error('the message breaks off')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
}

const kinds = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const

/** One field, as it stands in a message. */
export function writeField({ number, value }: WireField): Buffer {
  const tag = varint((BigInt(number) << 3n) | BigInt(kinds[value.wire]))
  if (value.wire === 'varint') return Buffer.concat([tag, varint(value.number)])
  if (value.wire !== 'bytes') return Buffer.concat([tag, value.bytes])
  return Buffer.concat([tag, varint(BigInt(value.bytes.length)), value.bytes])
}

/** A field of text. */
export function writeText(number: number, text: string): Buffer {
  return writeField({ number, value: { wire: 'bytes', bytes: Buffer.from(text) } })
}

function varint(number: bigint): Buffer {
  const bytes: number[] = []
  for (let rest = BigInt.asUintN(64, number); ; rest >>= 7n) {
    const low = Number(rest & 0x7fn)
    if (rest < 0x80n) return Buffer.from([...bytes, low])
    bytes.push(low | 0x80)
  }
}

/** The contents of a field of messages, texts or bytes. */
export function partsOf(fields: readonly WireField[], wanted: number): readonly Buffer[] {
  return fields.flatMap(({ number, value }) => (number === wanted && value.wire === 'bytes' ? [value.bytes] : []))
}

/** The last text of a field, '' where there is none. */
export function textOf(fields: readonly WireField[], wanted: number): string {
  return partsOf(fields, wanted).at(-1)?.toString('utf8') ?? ''
}

/** The last number of a field, 0 where there is none. Negative numbers are written with 64 bits. */
export function numberOf(fields: readonly WireField[], wanted: number): number {
  const last = fields.findLast(({ number, value }) => number === wanted && value.wire === 'varint')
  return last?.value.wire === 'varint' ? Number(BigInt.asIntN(64, last.value.number)) : 0
}
