import { fullName, type Descriptors, type FieldType } from './descriptors.ts'
import { textsIn } from './map-text.ts'
import { readFields, writeField, type WireValue } from './protobuf.ts'

/** Texts by the name of a field. */
export type Texts = Readonly<Record<string, string>>

/** A message of these texts. Throws a sentence where a field is not there, or its text does not fit. */
export function encodeMessage(known: Descriptors, message: string, texts: Texts): Buffer {
  const fields = known.messages.get(message) ?? []
  return Buffer.concat(
    Object.entries(texts).flatMap(([name, text]) => {
      const field = fieldNamed(fields, name)
      if (field === undefined) {
        const names = fields.map((other) => other.name).join(', ')
        throw new Error(`${message} has no field "${name}"; there are ${names === '' ? 'none' : names}`)
      }
      return valuesOf(known, field, text).map((value) => writeField({ number: field.number, value }))
    }),
  )
}

/** One value; of a map one for each of its keys. */
function valuesOf(known: Descriptors, field: FieldType, text: string): readonly WireValue[] {
  const entry = fullName(known, field.typeName) ?? ''
  if (!known.mapEntries.has(entry)) return [encode(known, field, text)]
  return Object.entries(textsIn(field.name, text)).map(([key, value]) => ({
    wire: 'bytes',
    bytes: encodeMessage(known, entry, { key, value }),
  }))
}

/**
 * What a field of a message holds. A server leaves out what is the default of its type: that is given then, 0 and false
 * in words. Throws a sentence where there is no such field.
 */
export function decodeField(
  known: Descriptors,
  { type, bytes }: { readonly type: string; readonly bytes: Buffer },
  name: string,
): Buffer {
  const field = fieldNamed(known.messages.get(type) ?? [], name)
  if (field === undefined) throw new Error(`${type} has no field "${name}"`)
  const found = readFields(bytes).findLast(({ number }) => number === field.number)
  return found === undefined ? Buffer.from(defaultOf(field)) : decode(known, field, found.value)
}

/** An enumeration's zero is the value that means nothing, and is given as nothing. */
function defaultOf({ type }: FieldType): string {
  if (type === boolType) return 'false'
  return type in codings && !textTypes.has(type) ? '0' : ''
}

function fieldNamed(fields: readonly FieldType[], name: string): FieldType | undefined {
  return fields.find((field) => field.name === name) ?? fields.find((field) => field.jsonName === name)
}

/** How a type is written. Numbers are those of descriptor.proto; 10 (groups) and 11 (messages) are no texts. */
type Coding = (text: string) => WireValue | undefined

const codings: Readonly<Record<number, { readonly allowed: string; readonly encode: Coding }>> = {
  1: { allowed: 'a number', encode: (text) => float(text, 8) },
  2: { allowed: 'a number', encode: (text) => float(text, 4) },
  3: { allowed: 'an integer', encode: (text) => varint(integer(text, 64)) },
  4: { allowed: 'a positive integer', encode: (text) => varint(natural(text, 64)) },
  5: { allowed: 'an integer', encode: (text) => varint(integer(text, 32)) },
  6: { allowed: 'a positive integer', encode: (text) => fixed(natural(text, 64), 8) },
  7: { allowed: 'a positive integer', encode: (text) => fixed(natural(text, 32), 4) },
  8: { allowed: 'true or false', encode: (text) => varint(switches.get(text)) },
  9: { allowed: 'a text', encode: (text) => ({ wire: 'bytes', bytes: Buffer.from(text) }) },
  12: { allowed: 'a text', encode: (text) => ({ wire: 'bytes', bytes: Buffer.from(text) }) },
  13: { allowed: 'a positive integer', encode: (text) => varint(natural(text, 32)) },
  15: { allowed: 'an integer', encode: (text) => fixed(integer(text, 32), 4) },
  16: { allowed: 'an integer', encode: (text) => fixed(integer(text, 64), 8) },
  17: { allowed: 'an integer', encode: (text) => varint(zigzag(integer(text, 32))) },
  18: { allowed: 'an integer', encode: (text) => varint(zigzag(integer(text, 64))) },
}

/** What Go takes for a switch. */
const switches: ReadonlyMap<string, bigint> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, 1n] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, 0n] as const),
])

const boolType = 8
/** Texts, and bytes. */
const textTypes: ReadonlySet<number> = new Set([9, 12])
/** Of an enumeration, in descriptor.proto. */
export const enumType = 14

function encode(known: Descriptors, field: FieldType, text: string): WireValue {
  if (field.type === enumType) return encodeEnum(known, field, text)
  const coding = codings[field.type]
  if (coding === undefined) throw new Error(`field ${field.name} is a message, which a text cannot be`)
  const value = coding.encode(text)
  if (value !== undefined) return value
  throw new Error(`field ${field.name} is ${JSON.stringify(text.slice(0, 60))}; allowed is ${coding.allowed}`)
}

function encodeEnum(known: Descriptors, { name, typeName }: FieldType, text: string): WireValue {
  const values = known.enums.get(fullName(known, typeName) ?? '')
  const number = values?.get(text)
  const value = varint(number === undefined ? integer(text, 32) : BigInt(number))
  if (value !== undefined) return value
  throw new Error(
    `field ${name} is ${JSON.stringify(text.slice(0, 60))}; allowed is ${[...(values?.keys() ?? ['a number'])].join(', ')}`,
  )
}

function float(text: string, bytes: 4 | 8): WireValue | undefined {
  const number = Number(text)
  if (text.trim() === '' || Number.isNaN(number)) return undefined
  const buffer = Buffer.alloc(bytes)
  if (bytes === 4) buffer.writeFloatLE(number)
  else buffer.writeDoubleLE(number)
  return { wire: bytes === 4 ? 'fixed32' : 'fixed64', bytes: buffer }
}

function integer(text: string, bits: 32 | 64): bigint | undefined {
  const number = /^[+-]?\d{1,20}$/.test(text) ? BigInt(text) : undefined
  return number !== undefined && BigInt.asIntN(bits, number) === number ? number : undefined
}

function natural(text: string, bits: 32 | 64): bigint | undefined {
  const number = /^\d{1,20}$/.test(text) ? BigInt(text) : undefined
  return number !== undefined && BigInt.asUintN(bits, number) === number ? number : undefined
}

function zigzag(number: bigint | undefined): bigint | undefined {
  return number === undefined ? undefined : (number << 1n) ^ (number >> 63n)
}

function varint(number: bigint | undefined): WireValue | undefined {
  return number === undefined ? undefined : { wire: 'varint', number }
}

function fixed(number: bigint | undefined, bytes: 4 | 8): WireValue | undefined {
  if (number === undefined) return undefined
  const buffer = Buffer.alloc(8)
  buffer.writeBigUInt64LE(BigInt.asUintN(64, number))
  return { wire: bytes === 4 ? 'fixed32' : 'fixed64', bytes: buffer.subarray(0, bytes) }
}

/** As text. */
function decode(known: Descriptors, field: FieldType, value: WireValue): Buffer {
  if (value.wire === 'bytes') {
    if (textTypes.has(field.type)) return value.bytes
    throw new Error(`field ${field.name} is a message or a list, which is no text`)
  }
  const number = numberIn(field, value)
  return Buffer.from(Number(number) === 0 ? defaultOf(field) : nameOf(known, field, number))
}

function nameOf(known: Descriptors, { type, typeName }: FieldType, number: bigint | number): string {
  if (type === boolType) return 'true'
  if (type !== enumType) return String(number)
  const names = [...(known.enums.get(fullName(known, typeName) ?? '') ?? [])]
  return names.find(([, other]) => other === Number(number))?.[0] ?? String(number)
}

const signedTypes: ReadonlySet<number> = new Set([3, 5, enumType, 15, 16])
const zigzagTypes: ReadonlySet<number> = new Set([17, 18])

function numberIn({ type }: FieldType, value: Exclude<WireValue, { wire: 'bytes' }>): bigint | number {
  if (value.wire === 'varint') {
    if (zigzagTypes.has(type)) return (value.number >> 1n) ^ -(value.number & 1n)
    return signedTypes.has(type) ? BigInt.asIntN(64, value.number) : value.number
  }
  if (type === 1) return value.bytes.readDoubleLE()
  if (type === 2) return value.bytes.readFloatLE()
  const isSigned = signedTypes.has(type)
  if (value.wire === 'fixed32') return isSigned ? value.bytes.readInt32LE() : value.bytes.readUInt32LE()
  return isSigned ? value.bytes.readBigInt64LE() : value.bytes.readBigUInt64LE()
}
