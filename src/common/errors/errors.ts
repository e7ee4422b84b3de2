import type { Place } from '../sentence/command.ts'
import type { Sentence } from '../sentence/sentence.ts'
import { catalogue, remedyOf, type ErrorCode } from './error-catalogue.ts'

/** `regent resume`, `kubectl -n shops scale …`: something to type. */
const namesCommand = /\b(?:regent|kubectl(?: -n \S+)?) (?:local )?[a-z]+\b/

/** The one error class: a stable code of the catalogue, and a message that names what was wrong and where. */
export class RegentError extends Error {
  readonly code: ErrorCode
  /** The message, before it is printed for a place. */
  readonly said: string | Sentence

  constructor(code: ErrorCode, said: string | Sentence, options?: { cause?: unknown }) {
    super(String(said), options)
    this.name = 'RegentError'
    this.said = said
    this.code = code
  }

  /** HTTP status that goes with the code. */
  get status(): number {
    return catalogue[this.code].status
  }

  /** What to do about it, where it is read. One remedy: '' where the message names the command already. */
  remedyIn(where: Place['kind']): string {
    return this.code === 'REGENT_REFUSED' && namesCommand.test(this.message) ? '' : remedyOf(this.code, where)
  }
}

/** The error's code where it is ours, else `REGENT_INTERNAL`. */
export function codeOf(error: unknown): ErrorCode {
  return error instanceof RegentError ? error.code : 'REGENT_INTERNAL'
}

/** One line about any thrown value. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
