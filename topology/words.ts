/** `for 300 ms`; a duration that rounds to nothing is no figure to tell. */
export function lasting(ms: number): string {
  return Math.round(ms) < 1 ? 'since just now' : `for ${Math.round(ms)} ms`
}

/** Each of these alone: `a`, `either a or b`, `any of a, b, c`. */
export function eachOf(names: readonly string[]): string {
  if (names.length === 2) return `either ${names.join(' or ')}`
  return names.length < 2 ? names.join('') : `any of ${names.join(', ')}`
}
