import { painted } from './paint.ts'

/** Longer than any path or URL that is meant. */
const longestWord = 1_000
const keptOfWord = 100

/**
 * Controls of terminals, also in their one-byte form, and what turns the direction of text: neither is obeyed from a
 * word that was given.
 */
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * What may repeat words of a command line, as one can print it: nothing that a terminal would obey, and of an endless
 * word its beginning.
 */
export function printable(text: string): string {
  return escaped(text.toWellFormed()).replace(/\S+/g, (word) =>
    word.length <= longestWord ? word : `${word.slice(0, keptOfWord)}… (${word.length} characters)`,
  )
}

/**
 * A line of whatever a store, a server or a record holds, as a terminal may have it: whole, with the colours of
 * `paintFor` where the terminal shows them, and with no other control. JSON stays the same for whoever reads it.
 */
export function forTerminal(line: string, colour: boolean): string {
  if (!colour) return escaped(line)
  return line
    .split(painted)
    .map((part, at) => (at % 2 === 1 ? part : escaped(part)))
    .join('')
}

/** A table's cell, as one line. */
export function inOneLine(cell: string): string {
  return cell.replace(/[\t\n]/g, inEscape)
}

function escaped(text: string): string {
  return text.replace(obeyed, inEscape)
}

function inEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
