import { describeSchema } from '#common/input/schema-complaint.ts'
import { code, table } from './markdown.ts'

interface Field {
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Field>>
}

/** A table of a schema's keys, those of nested mappings with their path. */
export function schemaTable(schema: object): string {
  return table(['key', 'allowed', 'default', 'meaning'], fieldRows(schema, ''))
}

function fieldRows(schema: object, path: string): readonly (readonly string[])[] {
  return Object.entries((schema as Field).properties ?? {}).flatMap(([name, field]) => {
    if (field.properties !== undefined) return fieldRows(field, `${path}${name}.`)
    const fallback = code(JSON.stringify(field.default) ?? '')
    return [[code(path + name), describeSchema(field, code), fallback, descriptionOf(field)]]
  })
}

export function descriptionOf(schema: object): string {
  return 'description' in schema && typeof schema.description === 'string' ? schema.description : ''
}
