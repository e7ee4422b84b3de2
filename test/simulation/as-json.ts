import { Sentence } from '#common/sentence/sentence.ts'
/**
 * A copy of plain data as the other end of a connection reads that: what JSON would bring, without the text. Throws for
 * what JSON has no words for.
 */
export function asJson<Value>(value: Value): Value {
  return copyOf(value) as Value
}

function copyOf(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      // JSON has neither infinity nor a negative zero.
      return Number.isFinite(value) ? value + 0 : null
    case 'object':
      // A sentence is sent with its parts.
      if (value === null || value instanceof Sentence) return value
      return Array.isArray(value) ? value.map(elementOf) : objectOf(value)
    default:
      throw new Error(`JSON has no words for ${typeof value}`)
  }
}

function elementOf(element: unknown): unknown {
  return element === undefined ? null : copyOf(element)
}

function objectOf(value: object): object {
  if (Object.getPrototypeOf(value) !== Object.prototype) throw new Error(`JSON has no words for ${nameOf(value)}`)
  const copy: Record<string, unknown> = { ...value }
  for (const key in copy) {
    const member = copy[key]
    if (member === undefined) return objectOf(withoutUndefined(copy))
    const read = copyOf(member)
    if (!Object.is(read, member)) copy[key] = read
  }
  return copy
}

function nameOf(value: object): string {
  return value.constructor?.name ?? 'an object without a prototype'
}

function withoutUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined))
}
