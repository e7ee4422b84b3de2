/** A text of others as part of a sentence: in one line, without what no reader sees, and cut where it is long. */
export function oneLine(text: string, mostLetters: number): string {
  const line = text.replace(/[\s\p{C}]+/gu, ' ').trim()
  return line.length <= mostLetters ? line : `${line.slice(0, mostLetters - 1)}…`
}
