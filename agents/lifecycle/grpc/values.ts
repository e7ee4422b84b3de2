import {
  fromBinary,
  ScalarType,
  toBinary,
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
} from '@bufbuild/protobuf'
import { describeError } from '#common/errors/errors.ts'
import { reflect, type ReflectMessage, type ScalarValue } from '@bufbuild/protobuf/reflect'

/** Texts by the name of a field. */
export type Texts = Readonly<Record<string, string>>

/** A message of these texts. Throws a sentence where a field is not there, or its text does not fit. */
export function encodeMessage(type: DescMessage, texts: Texts): Buffer {
  const message = reflect(type)
  for (const [name, text] of Object.entries(texts)) {
    const field = fieldNamed(type, name)
    if (field === undefined) {
      const names = type.fields.map((other) => other.name).join(', ')
      throw new Error(`${type.typeName} has no field "${name}"; there are ${names === '' ? 'none' : names}`)
    }
    setText(message, field, text)
  }
  return Buffer.from(toBinary(type, message.message))
}

function setText(message: ReflectMessage, field: DescField, text: string): void {
  switch (field.fieldKind) {
    case 'map': {
      const map = message.get(field)
      for (const [key, value] of Object.entries(textsIn(field.name, text)))
        map.set(
          valueOf({ name: 'key', scalar: field.mapKey }, key),
          valueOf({ name: 'value', scalar: field.scalar, enum: field.enum }, value),
        )
      return
    }
    case 'list':
      return message.get(field).add(valueOf(field, text))
    default:
      return message.set(field, valueOf(field, text))
  }
}

/** The texts that a JSON object of texts holds, for the map `field`. Throws a sentence where it is none. */
function textsIn(field: string, text: string): Texts {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      if (Object.values(value).every((item) => typeof item === 'string')) return value as Texts
  } catch {
    // What is no JSON is refused below.
  }
  throw new Error(`field ${field} is ${shown(text)}; allowed is a JSON object of texts`)
}

/**
 * What a field of a message holds. A server leaves out what is the default of its type: that is given then, 0 and false
 * in words. Throws a sentence where there is no such field.
 */
export function decodeField(type: DescMessage, bytes: Uint8Array, name: string): Buffer {
  const field = fieldNamed(type, name)
  if (field === undefined) throw new Error(`${type.typeName} has no field "${name}"`)
  const message = reflect(type, messageIn(type, bytes))
  if (!message.isSet(field)) return Buffer.from(defaultOf(field))
  const value: unknown = field.fieldKind === 'list' ? [...message.get(field)].at(-1) : message.get(field)
  if (value instanceof Uint8Array) return Buffer.from(value)
  return Buffer.from(textOf(field, value))
}

function textOf(field: DescField, value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'boolean':
    case 'number':
    case 'bigint':
      if (Number(value) === 0) return defaultOf(field)
      return field.enum?.values.find(({ number }) => number === value)?.name ?? String(value)
    default:
      throw new Error(`field ${field.name} is a message or a list, which is no text`)
  }
}

function messageIn(type: DescMessage, bytes: Uint8Array): Message {
  try {
    return fromBinary(type, bytes)
  } catch (cause) {
    throw new Error(`the answer is no ${type.typeName}: ${describeError(cause)}`, { cause })
  }
}

/** An enumeration's zero is the value that means nothing, and is given as nothing. */
function defaultOf({ scalar }: DescField): string {
  if (scalar === ScalarType.BOOL) return 'false'
  return scalar === undefined || scalar === ScalarType.STRING || scalar === ScalarType.BYTES ? '' : '0'
}

function fieldNamed({ fields }: DescMessage, name: string): DescField | undefined {
  return (
    fields.find((field) => field.name === name) ??
    fields.find(({ jsonName, localName }) => (jsonName === '' ? localName : jsonName) === name)
  )
}

/** A field, or the key or the value of a map. */
interface Place {
  readonly name: string
  readonly scalar: ScalarType | undefined
  readonly enum?: DescEnum | undefined
}

function valueOf({ name, scalar, enum: values }: Place, text: string): ScalarValue {
  if (scalar === undefined && values === undefined)
    throw new Error(`field ${name} is a message, which a text cannot be`)
  const coding = scalar === undefined ? enumCoding(values?.values ?? []) : codings[scalar]
  const value = coding.parse(text)
  if (value !== undefined) return value
  throw new Error(`field ${name} is ${shown(text)}; allowed is ${coding.allowed}`)
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 60))
}

/** How a type is written. */
interface Coding {
  readonly allowed: string
  readonly parse: (text: string) => ScalarValue | undefined
}

const aText = { allowed: 'a text' }
const aNumber = { allowed: 'a number' }
const signed32: Coding = { allowed: 'an integer', parse: (text) => small(integer(text, 32)) }
const signed64: Coding = { allowed: 'an integer', parse: (text) => integer(text, 64) }
const unsigned32: Coding = { allowed: 'a positive integer', parse: (text) => small(natural(text, 32)) }
const unsigned64: Coding = { allowed: 'a positive integer', parse: (text) => natural(text, 64) }

const codings: Readonly<Record<ScalarType, Coding>> = {
  [ScalarType.DOUBLE]: { ...aNumber, parse: float },
  [ScalarType.FLOAT]: { ...aNumber, parse: (text) => rounded(float(text)) },
  [ScalarType.INT64]: signed64,
  [ScalarType.UINT64]: unsigned64,
  [ScalarType.INT32]: signed32,
  [ScalarType.FIXED64]: unsigned64,
  [ScalarType.FIXED32]: unsigned32,
  [ScalarType.BOOL]: { allowed: 'true or false', parse: (text) => switches.get(text) },
  [ScalarType.STRING]: { ...aText, parse: (text) => text },
  [ScalarType.BYTES]: { ...aText, parse: (text) => Buffer.from(text) },
  [ScalarType.UINT32]: unsigned32,
  [ScalarType.SFIXED32]: signed32,
  [ScalarType.SFIXED64]: signed64,
  [ScalarType.SINT32]: signed32,
  [ScalarType.SINT64]: signed64,
}

/** By name, or by a number that may have none. */
function enumCoding(values: DescEnum['values']): Coding {
  const names = values.map(({ name }) => name)
  return {
    allowed: names.length === 0 ? 'a number' : names.join(', '),
    parse: (text) => values.find(({ name }) => name === text)?.number ?? signed32.parse(text),
  }
}

/** What Go takes for a switch. */
const switches: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
])

function float(text: string): number | undefined {
  const number = Number(text)
  return text.trim() === '' || Number.isNaN(number) ? undefined : number
}

function rounded(number: number | undefined): number | undefined {
  return number === undefined ? undefined : Math.fround(number)
}

function integer(text: string, bits: 32 | 64): bigint | undefined {
  const number = /^[+-]?\d{1,20}$/.test(text) ? BigInt(text) : undefined
  return number !== undefined && BigInt.asIntN(bits, number) === number ? number : undefined
}

function natural(text: string, bits: 32 | 64): bigint | undefined {
  const number = /^\d{1,20}$/.test(text) ? BigInt(text) : undefined
  return number !== undefined && BigInt.asUintN(bits, number) === number ? number : undefined
}

function small(number: bigint | undefined): number | undefined {
  return number === undefined ? undefined : Number(number)
}
