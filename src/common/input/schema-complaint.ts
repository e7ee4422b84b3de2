import type { TSchema } from 'typebox'
// Not `typebox/value`, which loads the builder of types: agents have no use for that.
import { Check, Errors } from 'typebox/schema'
import type { JsonSchema } from './json-schema.ts'

/**
 * What is wrong with a value, for a person: the path, the value there, and what is allowed. Undefined when it fits.
 * Only the first complaint is given, that of the deepest path: the others usually follow from it.
 */
export function complaintAbout(schema: TSchema | JsonSchema, value: unknown): string | undefined {
  if (Check(schema, value)) return undefined
  const errors = Errors(schema, value)[1].filter((error) => error.keyword !== 'boolean')
  const first = errors.find((error) => error.keyword === 'additionalProperties') ?? errors[0]
  if (first === undefined) return 'does not have the expected shape'
  const allowed = allowedAt(schema, first.instancePath)
  if (first.keyword === 'additionalProperties') return unknownKey(first, allowed)
  const at = pathText(first.instancePath)
  if (first.keyword === 'required')
    return `${at} lacks ${listOf((first.params as { requiredProperties?: readonly string[] }).requiredProperties)}`
  return (
    `${at} is ${preview(valueAt(value, first.instancePath))}; allowed is ` +
    `${allowed === undefined ? first.message.replace(/^must be /, '') : describeSchema(allowed)}`
  )
}

/** The value without the keys that the schema does not know, but for those that a pattern tells. */
export function withoutUnknownKeys(schema: TSchema | JsonSchema, value: unknown): unknown {
  const known: unknown = structuredClone(value)
  for (const { keyword, instancePath, params } of Errors(schema, value)[1]) {
    if (keyword !== 'additionalProperties' || allowedAt(schema, instancePath)?.properties === undefined) continue
    const at = valueAt(known, instancePath)
    if (typeof at !== 'object' || at === null) continue
    for (const key of unknownIn(params)) Reflect.deleteProperty(at, key)
  }
  return known
}

function unknownIn(params: unknown): readonly string[] {
  return (params as { additionalProperties?: readonly string[] }).additionalProperties ?? []
}

function unknownKey(error: { instancePath: string; params: unknown }, allowed: Schema | undefined): string {
  const known = Object.keys(allowed?.properties ?? allowed?.patternProperties ?? {})
  return `${pathText(error.instancePath)} has the unknown key ${listOf(unknownIn(error.params))}; allowed are ${known.join(', ')}`
}

/** The JSON Schema words that this project's schemas use. */
interface Schema {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  /** In words, where the rest would say it badly. */
  readonly allowed?: string
}

function allowedAt(schema: Schema, path: string): Schema | undefined {
  let at: Schema | undefined = schema
  for (const key of segments(path)) at = at === undefined ? undefined : step(at, key)
  return at
}

function step(schema: Schema, key: string): Schema | undefined {
  if (schema.items !== undefined) return schema.items
  const pattern = Object.entries(schema.patternProperties ?? {}).find(([text]) => new RegExp(text).test(key))
  return schema.properties?.[key] ?? pattern?.[1]
}

/**
 * What a schema allows, in words: `an integer from 1 to 16`, `"strict" or "available"`.
 * @param patternAs how a pattern is written: in a page its brackets would make a link
 */
export function describeSchema(schema: Schema, patternAs: (pattern: string) => string = (pattern) => pattern): string {
  if (schema.allowed !== undefined) return schema.allowed
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' or ')
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => describeSchema(each, patternAs)).join(' or ')
  const noun = nouns[schema.type ?? ''] ?? 'a value'
  return `${noun}${range(schema)}${schema.pattern === undefined ? '' : ` that matches ${patternAs(schema.pattern)}`}`
}

const nouns: Readonly<Record<string, string>> = {
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  null: 'null',
  array: 'a list',
  object: 'a mapping',
  string: 'a text',
}

function range(schema: Schema): string {
  if (schema.minimum !== undefined && schema.maximum !== undefined)
    return ` from ${schema.minimum} to ${schema.maximum}`
  if (schema.minimum !== undefined) return ` of at least ${schema.minimum}`
  if (schema.maxLength !== undefined) return ` of ${schema.minLength ?? 0} to ${schema.maxLength} characters`
  return ''
}

function valueAt(value: unknown, path: string): unknown {
  return segments(path).reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined),
    value,
  )
}

function segments(path: string): readonly string[] {
  return path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function pathText(path: string): string {
  const parts = segments(path)
  return parts.length === 0 ? 'the top level' : parts.join('.')
}

/** At most 60 characters of a value, so that a huge one does not become a huge message. */
function preview(value: unknown): string {
  const text = value === undefined ? 'missing' : JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

function listOf(keys: readonly string[] | undefined): string {
  return (keys ?? [])
    .slice(0, 3)
    .map((key) => preview(key))
    .join(', ')
}
