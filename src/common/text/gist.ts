/**
 * A sentence without its figures and their units of time, which move all the time; those in names (`shop-1`) stay. For
 * what is told to people once and not again: nothing is decided by it.
 */
export function gistOf(sentence: string): string {
  return sentence.replace(/(?<![\w-])\d+(?:\.\d+)?(?: (?:ms|s|min|h)\b)?(?: \d+ min\b)?/g, '#')
}
