import type { Random, World } from '#common/ports/ports.ts'

export interface BackoffOptions {
  readonly firstMs: number
  readonly longestMs: number
  readonly factor: number
  /**
   * Each wait is lengthened by a random part of itself, up to this times; so that many who failed together do not
   * return together.
   */
  readonly jitter: number
  /** After so long without a failure the next one counts as the first. */
  readonly forgetAfterMs: number
}

/** How long to wait after each failure in a row. */
export class Backoff {
  readonly #options: BackoffOptions
  readonly #world: World
  #nextMs: number
  #lastAtMs = -Infinity

  constructor(options: BackoffOptions, world: World) {
    this.#options = options
    this.#world = world
    this.#nextMs = options.firstMs
  }

  /** The wait after a failure that happened now. */
  next(): number {
    const { firstMs, longestMs, factor, jitter, forgetAfterMs } = this.#options
    const now = this.#world.clock.monotonicMs()
    if (now - this.#lastAtMs > forgetAfterMs) this.#nextMs = firstMs
    const waitMs = jittered(this.#nextMs, jitter, this.#world.random)
    this.#nextMs = Math.min(longestMs, this.#nextMs * factor)
    // The wait itself is no quiet time: only what comes after it is.
    this.#lastAtMs = now + waitMs
    return waitMs
  }
}

/** `ms` lengthened by a random part of itself, up to `jitter` times. */
export function jittered(ms: number, jitter: number, random: Random): number {
  return ms * (1 + jitter * fractionOf(random))
}

/** A random number from 0 up to, not including, 1. */
export function fractionOf(random: Random): number {
  return Number.parseInt(random.hex(8), 16) / 2 ** 32
}
