import { jsonObject, textOf } from './messages.ts'

/** What one pod says that itself, or several pods, are. */
export type RoleClaim =
  /** Ordered by when it was said. `role` is '' for none. */
  | { readonly is: 'plain'; readonly role: string }
  /** Ordered by a version of the engine's own, such as an election's epoch. */
  | { readonly is: 'versioned'; readonly role: string; readonly version: bigint }
  /** A word about several pods at once, ordered by its term. */
  | { readonly is: 'snapshot'; readonly term: bigint; readonly pods: readonly PodRole[] }
  | { readonly is: 'rejected'; readonly why: string }

export interface PodRole {
  readonly pod: string
  readonly uid: string
  /** '' for none. */
  readonly role: string
}

const mostUint64 = 2n ** 64n - 1n

/**
 * What a role probe wrote. Grammar of both generations: nothing; `<role>`; `<role> <version>`; JSON with `term` and
 * `PodRoleNamePairs`. Keys of the JSON in any case, as the older manager lower-cased the whole text before it read it.
 */
export function roleClaimOf(output: string): RoleClaim {
  const text = output.trim()
  if (text.startsWith('{')) return snapshotOf(text)
  const [role = '', version, ...more] = text.split(/\s+/)
  if (version === undefined) return { is: 'plain', role }
  const number = uint64(version)
  if (number === undefined || more.length > 0)
    return { is: 'rejected', why: `"${excerpt(text)}" is neither a role nor a role and its version` }
  return { is: 'versioned', role, version: number }
}

function snapshotOf(text: string): RoleClaim {
  const said = lowerKeys(jsonObject(text) ?? {})
  const term = termOf(said['term'])
  const pairs = said['podrolenamepairs']
  if (term === undefined || !Array.isArray(pairs))
    return { is: 'rejected', why: `"${excerpt(text)}" is no snapshot of roles with a term` }
  const pods = (pairs as unknown[]).map((pair) => {
    const { podname, rolename, poduid } = lowerKeys(Object(pair) as Readonly<Record<string, unknown>>)
    return { pod: textOf(podname), uid: textOf(poduid), role: textOf(rolename) }
  })
  return { is: 'snapshot', term, pods }
}

/** A number too where it is exact: JSON's numbers are doubles here. */
function termOf(term: unknown): bigint | undefined {
  return uint64(Number.isSafeInteger(term) ? String(term) : textOf(term))
}

/** A number that fits Go's uint64; undefined for any other text. */
export function uint64(text: string): bigint | undefined {
  if (!/^\d{1,20}$/.test(text)) return undefined
  const number = BigInt(text)
  return number <= mostUint64 ? number : undefined
}

function lowerKeys(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key.toLowerCase(), value]))
}

function excerpt(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`
}
