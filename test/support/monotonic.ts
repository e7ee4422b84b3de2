/** Milliseconds of the machine's monotonic clock: one and the same for every process, unlike `performance.now()`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
