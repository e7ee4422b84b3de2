/** A set of measurements in a few numbers. */
export interface Distribution {
  readonly runs: number
  readonly min: number
  readonly median: number
  readonly p95: number
  readonly max: number
}

/** Nearest-rank percentiles, rounded to a tenth; undefined of nothing. */
export function distributionOf(values: readonly number[]): Distribution | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const rank = (share: number) => tenth(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN)
  if (sorted.length === 0) return undefined
  return { runs: sorted.length, min: rank(0), median: rank(0.5), p95: rank(0.95), max: rank(1) }
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10
}
