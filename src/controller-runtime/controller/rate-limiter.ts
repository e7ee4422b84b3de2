/** How long a key that failed waits before its next try. */
export interface RateLimiter {
  /** Counts one more failure of the key and gives the milliseconds to wait for it. */
  nextDelayMs(key: string): number
  /** How often the key failed since it was last forgotten. */
  failures(key: string): number
  /** The key succeeded: its next failure is its first. */
  forget(key: string): void
}

export interface BackOff {
  /** After the first failure. */
  readonly baseMs?: number
  /** No wait is longer. */
  readonly capMs?: number
}

/**
 * Per key `baseMs` × 2^failures up to `capMs`; 5 ms and 1000 s unless given, as client-go's. There is no bucket over
 * all keys: one key that fails for ever must not slow down those that are well.
 */
export function exponentialRateLimiter({ baseMs = 5, capMs = 1_000_000 }: BackOff = {}): RateLimiter {
  const failed = new Map<string, number>()
  return {
    nextDelayMs(key) {
      const before = failed.get(key) ?? 0
      failed.set(key, before + 1)
      return Math.min(baseMs * 2 ** before, capMs)
    },
    failures: (key) => failed.get(key) ?? 0,
    forget: (key) => void failed.delete(key),
  }
}
