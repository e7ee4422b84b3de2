import type { SeededRandom } from './seeded-random.ts'

/** Who reaches whom, and how long a message takes. Places have names: instances, managers, `store`, `clients`. */
export class Network {
  readonly #random: SeededRandom
  readonly #cut = new Set<string>()
  /** What a message takes at most. */
  slowestMs = 2
  /** How often a request arrives a second time. */
  repeats = 0.02
  /** What a message to or from a place takes besides, at most. */
  readonly slowAt = new Map<string, number>()

  constructor(random: SeededRandom) {
    this.#random = random
  }

  reaches(from: string, to: string): boolean {
    return this.isWhole || from === to || !this.#cut.has(`${from} ${to}`)
  }

  reachesBothWays(one: string, other: string): boolean {
    return this.reaches(one, other) && this.reaches(other, one)
  }

  /** In this direction only. */
  cut(from: string, to: string): void {
    this.#cut.add(`${from} ${to}`)
  }

  /** Between these two, in both directions. */
  separate(one: string, other: string): void {
    this.cut(one, other)
    this.cut(other, one)
  }

  /** Ends what `separate` or `cut` began between these two. */
  join(one: string, other: string): void {
    this.#cut.delete(`${one} ${other}`)
    this.#cut.delete(`${other} ${one}`)
  }

  mend(): void {
    this.#cut.clear()
    this.slowestMs = 2
  }

  get isWhole(): boolean {
    return this.#cut.size === 0
  }

  delayMs(...places: readonly string[]): number {
    const besides = Math.max(0, ...places.map((place) => this.slowAt.get(place) ?? 0))
    return this.#random.between(0.1, this.slowestMs + besides)
  }
}
