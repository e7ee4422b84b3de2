import * as schema from './json-schema.ts'
import type { JsonSchema } from './json-schema.ts'

declare const describes: unique symbol

/** A JSON Schema of values of type `T`, in plain words as `json-schema.ts` has them: agents load no TypeBox builder. */
export type Shape<T> = JsonSchema & { readonly [describes]?: T }

/** What a shape describes. */
export type Shaped<S> = S extends Shape<infer T> ? T : never

/** A property that may be absent. */
export interface Optional<T> {
  readonly mayLack: Shape<T>
}

export type Fields = Readonly<Record<string, JsonSchema | Optional<unknown>>>

/** An object with these properties. */
export type Described<F extends Fields> = Flat<
  { readonly [K in keyof F as F[K] extends Optional<unknown> ? never : K]: Shaped<F[K]> } & {
    readonly [K in keyof F as F[K] extends Optional<unknown> ? K : never]?: F[K] extends Optional<infer T> ? T : never
  }
>

type Flat<T> = { [K in keyof T]: T[K] }

/** The shape of an object with these properties, and others that another version of Regent may know. */
export function objectWith<F extends Fields>(fields: F): Shape<Described<F>> {
  return { ...objectOf(fields), additionalProperties: true }
}

/** The shape of an object with these properties and no others. */
export function objectOf<F extends Fields>(fields: F): Shape<Described<F>> {
  const entries = Object.entries(fields)
  const properties = entries.map(([key, field]) => [key, isOptional(field) ? field.mayLack : field] as const)
  const lacking = entries.flatMap(([key, field]) => (isOptional(field) ? [key] : []))
  return schema.exactObject(Object.fromEntries(properties), lacking)
}

export function optional<T>(shape: Shape<T>): Optional<T> {
  return { mayLack: shape }
}

/** Whether a field may be absent. */
export function isOptional(field: JsonSchema | Optional<unknown>): field is Optional<unknown> {
  return 'mayLack' in field
}

/** The same shape with words for a person: what the value means, its unit, its default. */
export const described = <T>(shape: Shape<T>, description: string): Shape<T> => ({ ...shape, description })

export const text: (minLength: number, maxLength: number) => Shape<string> = schema.text
export const integer: (minimum: number, maximum: number) => Shape<number> = schema.integer
export const matching = (pattern: string): Shape<string> => ({ type: 'string', pattern })
export const anyNumber: Shape<number> = { type: 'number' }
export const anyText: Shape<string> = { type: 'string' }
export const anyBoolean: Shape<boolean> = { type: 'boolean' }
export const listOf = <T>(items: Shape<T>, maxItems: number): Shape<readonly T[]> => ({
  type: 'array',
  items,
  maxItems,
})
export const exactly = <const T>(value: T): Shape<T> => ({ const: value })
export const oneOf = <const T extends readonly unknown[]>(...values: T): Shape<T[number]> => ({ enum: values })

export const orNull = <T>(shape: Shape<T>): Shape<T | null> => ({ anyOf: [shape, { type: 'null' }] })

/** By keys of 1 to 64 characters. */
export const byName = <T>(value: Shape<T>): Shape<Readonly<Record<string, T>>> => ({
  type: 'object',
  patternProperties: { '^.{1,64}$': value },
  additionalProperties: false,
})
