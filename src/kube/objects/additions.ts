/** More are not told one by one. */
const mostTold = 6

/**
 * What of an object was taken away or changed, for people: `template.spec.containers.mysql.env.LD_PRELOAD`. Entries of
 * lists are told by their names where they have one.
 * @returns '' where everything is still there
 */
export function additionsIn(before: unknown, after: unknown): string {
  const paths = [...gone(before, after, '')]
  const rest = paths.length - mostTold
  return `${paths.slice(0, mostTold).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

function* gone(before: unknown, after: unknown, path: string): Generator<string> {
  const [had, has] = [entriesOf(before), entriesOf(after)]
  if (had === undefined || has === undefined) {
    if (before !== undefined && before !== after) yield path
    return
  }
  for (const [key, value] of had) {
    const at = path === '' ? key : `${path}.${key}`
    if (!has.has(key)) yield at
    else yield* gone(value, has.get(key), at)
  }
}

/** Undefined for what has no parts. */
function entriesOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!Array.isArray(value)) return new Map(Object.entries(value))
  return new Map(value.map((entry: unknown, index) => [nameOf(entry) ?? String(index), entry]))
}

function nameOf(entry: unknown): string | undefined {
  const { name, mountPath } = (typeof entry === 'object' && entry !== null ? entry : {}) as {
    readonly name?: unknown
    readonly mountPath?: unknown
  }
  // A volume may be mounted at several places.
  const named = mountPath ?? name
  return typeof named === 'string' ? named : undefined
}
