/** `09:15:30 UTC`, for a moment of today. */
export function utcTimeOf(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(11, 19)} UTC`
}
