const unitsMs: Readonly<Record<string, number>> = {
  '': 1_000,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** `10s`, `1h`, `2d`, or bare seconds; undefined for anything else, and for nothing. */
export function durationMs(text: string): number | undefined {
  const [, digits = '', unit = ''] = /^(\d{1,9})([smhdw]?)$/.exec(text) ?? []
  const ms = Number(digits) * (unitsMs[unit] ?? 0)
  return ms > 0 ? ms : undefined
}
