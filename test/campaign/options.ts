import { integerFrom } from '#cli/terminal/arguments.ts'
import { modes, type ModeName } from '#failover/protocol/mode-name.ts'

/** Drawn where none is given. */
export function seedFrom(word: string | undefined): number {
  return word === undefined ? Math.floor(Math.random() * 1_000_000_000) : integerFrom(0, 999_999_999)(word)
}

export function modeFrom(word: string): ModeName {
  const mode = modes.find((name) => name === word)
  if (mode === undefined) throw new Error(`--mode is ${modes.join(' or ')}, not ${word}`)
  return mode
}
