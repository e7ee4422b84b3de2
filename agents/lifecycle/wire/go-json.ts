/**
 * JSON as Go's encoding/json writes a struct or a map: compact, with `<`, `>`, `&` and two line separators escaped. The
 * name of an Event hashes such a text, so the same content must always give the same bytes.
 */
export function goJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The same mapping with its keys in the order of their bytes, as Go writes a map. */
export function inKeyOrder<Value>(map: Readonly<Record<string, Value>>): Record<string, Value> {
  const compare = ([a]: [string, Value], [b]: [string, Value]): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
  return Object.fromEntries(Object.entries(map).sort(compare))
}
