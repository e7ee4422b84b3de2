/** The same JSON value without keys whose value is null: Go reads null as a field that is not there. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([, item]) => item !== null)
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutNulls(item)]))
}
