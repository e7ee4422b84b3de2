/**
 * What members of different versions of MySQL may do in one group (manual, "Combining Different Member Versions in a
 * Group" and "Setting a Group's Communication Protocol Version").
 */

type Numbers = readonly [major: number, minor: number, patch: number]

/** `9.7.4-2` and `9.7.4` are the same. A version that is not known comes before all others. */
function numbersOf(version: string): Numbers {
  const [, major = 0, minor = 0, patch = 0] = /^(\d+)\.(\d+)\.(\d+)/.exec(version)?.map(Number) ?? []
  return [major, minor, patch]
}

/** Negative where `left` is lower. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [numbersOf(left), numbersOf(right)]
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
}

/** '' where there is none. */
export function lowestOf(versions: readonly string[]): string {
  return versions.toSorted(compareVersions)[0] ?? ''
}

/**
 * Whether a server of this version is refused by a group of these: a lower version does not join a higher group.
 * Releases of one long-term series join each other. What is not known is no reason.
 */
export function isTooLowFor(own: string, members: readonly string[]): boolean {
  if (own === '' || members.length === 0 || members.includes('')) return false
  return compareVersions(own, lowestOf(members)) < 0 && !areOfOneLongTermSeries([own, ...members])
}

/** 8.4, 9.7, and the seventh of each later major version. */
function areOfOneLongTermSeries(versions: readonly string[]): boolean {
  const series = versions.map(numbersOf).map(([major, minor]) => `${major}.${minor}`)
  return new Set(series).size === 1 && /^(8\.4|9\.7|[1-9]\d+\.7)$/.test(series[0] ?? '')
}

/**
 * Whether a group of these members would make one of this version primary: the lowest version leads, each number
 * counts, also within a long-term series.
 */
export function mayLead(own: string, members: readonly string[]): boolean {
  return members.every((version) => compareVersions(own, version) <= 0)
}

/** Protocols that groups speak, each named by the first version that speaks the protocol. */
const protocols = ['8.0.27', '8.0.16', '5.7.14'] as const

/** The highest protocol that all members of these versions speak; '' where there is none, or a version is not known. */
export function highestProtocolOf(members: readonly string[]): string {
  const lowest = lowestOf(members)
  return protocols.find((since) => compareVersions(lowest, since) >= 0) ?? ''
}
