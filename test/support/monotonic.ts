/** Milliseconds of the machine's monotonic clock: one and the same for every process, unlike `performance.now()`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Milliseconds until `work` ends, in whatever way. */
export async function elapsed(work: Promise<unknown>): Promise<number> {
  const began = monotonicMs()
  await work.catch(() => undefined)
  return monotonicMs() - began
}

/** Milliseconds from the start of `work` to its end. Unlike `elapsed` it counts what `work` does before it waits. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = monotonicMs()
  await work()
  return monotonicMs() - began
}
