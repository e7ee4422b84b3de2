import type { TSchema } from 'typebox'

/** A node of an OpenAPI v3 schema as `apiextensions.k8s.io/v1` takes it. */
export type StructuralSchema = Readonly<Record<string, unknown>>

interface Node extends Readonly<Record<string, unknown>> {
  readonly type?: string
  readonly const?: unknown
  readonly anyOf?: readonly Node[]
  readonly properties?: Readonly<Record<string, Node>>
  readonly patternProperties?: Readonly<Record<string, Node>>
  readonly items?: Node
}

/**
 * Said by a structural schema in another way, or not at all: unknown fields are pruned, and refused where clients ask
 * for strict checks (kubectl does).
 */
const dropped = ['anyOf', 'const', 'additionalProperties', 'patternProperties']

/**
 * A TypeBox schema as the structural schema of a custom resource: literals become enums, null becomes `nullable`,
 * records `additionalProperties`. Throws where a schema says something that a structural schema cannot say (manual:
 * "Specifying a structural schema").
 */
export function structuralSchema(schema: TSchema): StructuralSchema {
  return convert(schema as unknown as Node, '')
}

function convert(node: Node, path: string): StructuralSchema {
  if (node.anyOf) return { ...plain(node), ...convertUnion(node.anyOf, path) }
  if (node.const !== undefined) return { ...plain(node), type: typeOf(node.const), enum: [node.const] }
  if (node.patternProperties)
    return {
      ...plain(node),
      type: 'object',
      additionalProperties: convert(onlyValue(node.patternProperties, path), `${path}.*`),
    }
  if (node.properties)
    return {
      ...plain(node),
      properties: Object.fromEntries(
        Object.entries(node.properties).map(([name, child]) => [name, convert(child, `${path}.${name}`)]),
      ),
    }
  if (node.type === undefined)
    throw new Error(`the schema of ${path || 'the resource'} has no type; a structural schema needs one`)
  return node.items ? { ...plain(node), items: convert(node.items, `${path}[]`) } : plain(node)
}

/** A union of words, or of something and null. */
function convertUnion(options: readonly Node[], path: string): StructuralSchema {
  const words = options.filter((one) => one.const !== undefined).map((one) => one.const)
  if (words.length === options.length) return { type: typeOf(words[0]), enum: words }
  const [some, ...more] = options.filter((one) => one.type !== 'null')
  if (some === undefined || more.length > 0)
    throw new Error(`the schema of ${path} is a choice of several types, which a structural schema cannot say`)
  return { ...convert(some, path), nullable: true }
}

function typeOf(word: unknown): string {
  return typeof word === 'number' ? 'integer' : typeof word
}

function onlyValue(patterns: Readonly<Record<string, Node>>, path: string): Node {
  const [value, ...more] = Object.values(patterns)
  if (value === undefined || more.length > 0)
    throw new Error(`the schema of ${path} has several patterns of names, which a structural schema cannot say`)
  return value
}

/**
 * Without what TypeBox keeps under symbols and names beginning with `~`, and with descriptions as they are. `default:
 * null` says nothing.
 */
function plain(node: Node): StructuralSchema {
  return Object.fromEntries(
    Object.entries(node)
      .filter(
        ([name, value]) =>
          !name.startsWith('~') &&
          !dropped.includes(name) &&
          !(name === 'default' && value === null) &&
          name !== 'required',
      )
      .concat(required(node)),
  )
}

/** What has a default is never missing: the API server fills it in before it checks. */
function required({ properties = {}, required: names }: Node): [string, unknown][] {
  const needed = (Array.isArray(names) ? (names as string[]) : []).filter(
    (name) => properties[name]?.['default'] === undefined,
  )
  return needed.length > 0 ? [['required', needed]] : []
}
