/** A node of a structural schema. */
export interface SchemaNode extends Readonly<Record<string, unknown>> {
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
  readonly additionalProperties?: SchemaNode
}

type Words = readonly unknown[]

const lowerBounds = ['minimum', 'minLength', 'minItems', 'minProperties']
const upperBounds = ['maximum', 'maxLength', 'maxItems', 'maxProperties']
const shapes = ['type', 'pattern', 'format', 'x-kubernetes-list-type', 'x-kubernetes-list-map-keys']
const allowances = ['nullable', 'x-kubernetes-preserve-unknown-fields', 'x-kubernetes-int-or-string']

/** What `before` takes and `now` refuses or drops, in words; nothing where all of that is taken still. */
export function narrowed(before: SchemaNode, now: SchemaNode | undefined, path = ''): readonly string[] {
  if (now === undefined) return [`${path} is gone`]
  const children = Object.entries(childrenOf(before, path))
  return [
    ...narrowedWords(before, now).map((what) => `${path}: ${what}`),
    ...children.flatMap(([where, child]) => narrowed(child, childrenOf(now, path)[where], where)),
  ]
}

function narrowedWords(before: SchemaNode, now: SchemaNode): readonly string[] {
  const number = (node: SchemaNode, name: string, none: number): number => (node[name] as number | undefined) ?? none
  const [allowed, left] = [before['enum'] as Words | undefined, now['enum'] as Words | undefined]
  return [
    ...shapes.filter((name) => now[name] !== undefined && said(now[name]) !== said(before[name])),
    ...lowerBounds.filter((name) => number(now, name, -Infinity) > number(before, name, -Infinity)),
    ...upperBounds.filter((name) => number(now, name, Infinity) < number(before, name, Infinity)),
    ...allowances.filter((name) => before[name] === true && now[name] !== true),
    ...(left === undefined || (allowed ?? [undefined]).every((word) => left.includes(word)) ? [] : ['enum']),
    ...added(before, now, 'required').map((name) => `${String(name)} is required`),
    ...added(before, now, 'x-kubernetes-validations').map((rule) => `a new rule ${said(rule)}`),
  ]
}

/** A rule may be said in other words: what the rule checks counts. */
function added(before: SchemaNode, now: SchemaNode, name: string): Words {
  const list = (node: SchemaNode): Words =>
    ((node[name] as Words | undefined) ?? []).map((one) => (one as { readonly rule?: string }).rule ?? one)
  return list(now).filter((one) => !list(before).includes(one))
}

function childrenOf(node: SchemaNode, path: string): Readonly<Record<string, SchemaNode>> {
  const fields = Object.entries(node.properties ?? {}).map(([name, child]) => [`${path}.${name}`, child] as const)
  return {
    ...Object.fromEntries(fields),
    ...(node.items && { [`${path}[]`]: node.items }),
    ...(node.additionalProperties && { [`${path}.*`]: node.additionalProperties }),
  }
}

function said(word: unknown): string {
  return JSON.stringify(word)
}
