import type { JsonSchema } from './json-schema.ts'

/** A value without the properties that a schema does not name, also within the properties that the schema names. */
export function onlyKnown({ properties }: JsonSchema, value: unknown): unknown {
  if (properties === undefined || typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const schemas = new Map(Object.entries(properties as Readonly<Record<string, JsonSchema>>))
  const known = Object.entries(value).flatMap(([key, each]) => {
    const schema = schemas.get(key)
    return schema === undefined ? [] : [[key, onlyKnown(schema, each)] as const]
  })
  return Object.fromEntries(known)
}
