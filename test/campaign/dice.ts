/** Random draws that a seed repeats: which faults, at whom, when. How servers answer no seed repeats. */
export interface Dice {
  /** A number from 0 up to, and without, 1. */
  share(): number
  /** An integer from `least` to `most`, both included. */
  between(least: number, most: number): number
  /** Throws where the list is empty. */
  pick<Item>(items: readonly Item[]): Item
}

const golden = 0x9e3779b9

/** SplitMix32: every seed, also 0 and neighbours, gives a sequence of its own. */
export function diceOf(seed: number): Dice {
  let state = seed >>> 0
  const share = (): number => {
    state = (state + golden) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
  const between = (least: number, most: number): number => least + Math.floor(share() * (most - least + 1))
  const pick = <Item>(items: readonly Item[]): Item => {
    const found = items[between(0, items.length - 1)]
    if (found === undefined) throw new Error('nothing to pick from')
    return found
  }
  return { share, between, pick }
}
