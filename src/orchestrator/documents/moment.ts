/** The one that was written last: hundreds of servers were seen within the same second. */
let newest = { second: NaN, text: '' }

/** `2026-11-23 12:03:10`, in UTC, as orchestrator writes moments; '' for none. */
export function moment(wallMs: number | null): string {
  if (wallMs === null) return ''
  const second = Math.floor(wallMs / 1_000)
  if (newest.second !== second) newest = { second, text: new Date(wallMs).toISOString().slice(0, 19).replace('T', ' ') }
  return newest.text
}

/** A number that may be absent, as Go writes one of a database. */
export interface NullableNumber {
  readonly Int64: number
  readonly Valid: boolean
}

export function nullableNumber(value: number | null): NullableNumber {
  return { Int64: value === null ? 0 : Math.round(value), Valid: value !== null }
}
