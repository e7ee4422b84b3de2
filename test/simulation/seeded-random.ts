import type { Random } from '#common/ports/ports.ts'

/** Numbers that follow from a seed alone (mulberry32). */
export class SeededRandom implements Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to 1, without 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number below `sides`. */
  below(sides: number): number {
    return Math.floor(this.next() * sides)
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** Throws for an empty list. */
  pick<T>(list: readonly T[]): T {
    const one = list[this.below(list.length)]
    if (one === undefined) throw new Error('nothing to pick from')
    return one
  }

  /** Draws of its own, so that one part that draws more does not change what another part draws. */
  fork(): SeededRandom {
    return new SeededRandom(this.below(4_294_967_296))
  }

  hex(length: number): string {
    return Array.from({ length }, () => this.below(16).toString(16)).join('')
  }

  uuid(): string {
    return `${this.hex(8)}-${this.hex(4)}-4${this.hex(3)}-8${this.hex(3)}-${this.hex(12)}`
  }
}
