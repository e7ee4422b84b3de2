/** `2 replicas`, `1 replica`, `2 processes`. */
export function counted(number: number, noun: string): string {
  const ending = noun.endsWith('s') ? 'es' : 's'
  return `${number} ${noun}${number === 1 ? '' : ending}`
}

/** A text of unknown length in a sentence. */
export function abbreviated(text: string): string {
  const longest = 200
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`
}

/** `300 ms`, `45 s`, `12 min`, `2 h 5 min`: to the millisecond where a failover is measured, then as people say it. */
export function duration(ms: number): string {
  if (ms < 10_000) return `${Math.round(ms)} ms`
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`
  const minutes = Math.round(ms / 60_000)
  if (minutes < 120) return `${minutes} min`
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `for 300 ms`; a duration that rounds to nothing is no figure to tell. */
export function lasting(ms: number): string {
  return Math.round(ms) < 1 ? 'since just now' : `for ${duration(ms)}`
}

/** `09:15:30 UTC`, for a moment of today. */
export function utcTimeOf(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(11, 19)} UTC`
}

/** `2026-11-27T09:15:30.000Z` */
export function utcMomentOf(wallMs: number): string {
  return new Date(wallMs).toISOString()
}

/** `12.0 MiB` */
export function mebibytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`
}

/** `none`, `1`, `2`. */
export function noneOr(number: number): string {
  return number === 0 ? 'none' : String(number)
}

/** A list of names: `a`, `a and b`, `a, b and c`. */
export function allOf(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

/** Each of these alone: `a`, `either a or b`, `any of a, b, c`. */
export function eachOf(names: readonly string[]): string {
  if (names.length === 2) return `either ${names.join(' or ')}`
  return names.length < 2 ? names.join('') : `any of ${names.join(', ')}`
}
