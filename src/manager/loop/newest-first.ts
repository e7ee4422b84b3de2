/**
 * Looks at one thing that overlap. A look that began earlier may end later, and must not take the place of what a later
 * one saw: another hand may have come in between.
 */
export class NewestFirst {
  #begun = 0
  #newest = 0

  /**
   * To be called before a look begins. The result says, once the look has ended, whether no later one has ended before.
   */
  begin(): () => boolean {
    this.#begun += 1
    const mine = this.#begun
    return () => {
      if (mine < this.#newest) return false
      this.#newest = mine
      return true
    }
  }
}
