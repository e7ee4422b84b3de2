/** A JSON Schema, as far as it matters to who only hands it on. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * The JSON Schema of an object with these keys and no others. What agents check is written in plain JSON Schema, with
 * this: TypeBox's builder, which makes the other schemas, would be a fifth of an agent's memory and half of its start.
 */
export function exactObject<Properties extends Readonly<Record<string, JsonSchema>>>(
  properties: Properties,
  optional: readonly string[] = [],
  description?: string,
) {
  const required = Object.keys(properties).filter((key) => !optional.includes(key))
  return {
    type: 'object',
    properties,
    required,
    additionalProperties: false,
    ...(description !== undefined && { description }),
  } as const
}

export const text = (minLength: number, maxLength: number) => ({ type: 'string', minLength, maxLength })
export const integer = (minimum: number, maximum: number) => ({ type: 'integer', minimum, maximum })
