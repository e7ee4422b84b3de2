import { expect } from 'vitest'
import { Sentence } from '#common/sentence/sentence.ts'

/** A test compares what is said by its text: a sentence equals the string that people read on one machine. */
expect.addEqualityTesters([
  (a: unknown, b: unknown) => {
    if (a instanceof Sentence && typeof b === 'string') return String(a) === b
    return b instanceof Sentence && typeof a === 'string' ? a === String(b) : undefined
  },
])

/** Matches a sentence, or a text, that has these words. */
export function saying(words: string | RegExp): string {
  const matcher = {
    asymmetricMatch: (said: unknown) =>
      typeof words === 'string' ? String(said).includes(words) : words.test(String(said)),
    toString: () => `saying ${String(words)}`,
  }
  return matcher as unknown as string
}
