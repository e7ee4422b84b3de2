import type { TSchema } from 'typebox'

interface Node {
  readonly properties?: Readonly<Record<string, Node>>
  readonly items?: Node
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
}

/**
 * A spec whose parts that are passed on as Kubernetes has them say nothing where they say null, as `limits:` with
 * nothing behind does. The API server has taken such nulls away already from all other fields.
 */
export function withoutNulls<Spec>(schema: TSchema, spec: Spec): Spec {
  return cleaned(schema, spec) as Spec
}

function cleaned(node: Node, value: unknown): unknown {
  if (node['x-kubernetes-preserve-unknown-fields'] === true) return bare(value)
  if (Array.isArray(value)) {
    const { items } = node
    return items === undefined ? value : value.map((one) => cleaned(items, one))
  }
  return isObject(value) ? mapped(value, (name, part) => cleaned(node.properties?.[name] ?? {}, part)) : value
}

function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((one) => one !== null).map(bare)
  if (!isObject(value)) return value
  const said = Object.entries(value).filter(([, part]) => part !== null)
  return mapped(Object.fromEntries(said), (_, part) => bare(part))
}

function mapped(value: object, change: (name: string, part: unknown) => unknown): object {
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, change(name, part)]))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
