import type { Said, Sentence } from '#common/sentence/sentence.ts'

/**
 * Why each agent is not heard. A stream is opened again every 100 ms. A reason takes the place of another once that
 * reason came twice in a row: two that alternate would be news each time.
 */
export class Reasons {
  readonly #held = new Map<string, { why: Sentence; next: string }>()

  /** '' for an agent that is heard. */
  of(name: string): Said {
    return this.#held.get(name)?.why ?? ''
  }

  /** Says whether the reason is the one that is held from now on, and was not before. */
  note(name: string, why: Sentence): boolean {
    const held = this.#held.get(name)
    if (held === undefined) {
      this.#held.set(name, { why, next: why.news })
      return true
    }
    const isSecond = held.next === why.news
    held.next = why.news
    if (!isSecond || held.why.news === why.news) return false
    held.why = why
    return true
  }

  forget(name: string): void {
    this.#held.delete(name)
  }
}
