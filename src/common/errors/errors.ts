import type { Place } from '../sentence/command.ts'
import { reported, type Sayable, type Sentence } from '../sentence/sentence.ts'
import { catalogue, remedyOf, type ErrorCode } from './error-catalogue.ts'

export interface ErrorOptions {
  readonly cause?: unknown
  /** What to do, in place of the catalogue's word; '' where the message says that already. */
  readonly remedy?: string | undefined
}

/** The one error class: a stable code of the catalogue, and a message that names what was wrong and where. */
export class RegentError extends Error {
  readonly code: ErrorCode
  /** The message, before it is printed for a place. */
  readonly said: Sentence
  readonly #remedy: string | undefined

  constructor(code: ErrorCode, said: Sentence, { remedy, ...options }: ErrorOptions = {}) {
    super(said.toString(), options)
    this.#remedy = remedy
    this.name = 'RegentError'
    this.said = said
    this.code = code
  }

  /** HTTP status that goes with the code. */
  get status(): number {
    return catalogue[this.code].status
  }

  /** What to do about it, where it is read. */
  remedyIn(where: Place['kind']): string {
    return this.#remedy ?? remedyOf(this.code, where)
  }
}

/** The error's code where it is ours, else `REGENT_INTERNAL`. */
export function codeOf(error: unknown): ErrorCode {
  return error instanceof RegentError ? error.code : 'REGENT_INTERNAL'
}

/** A line about any thrown value. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The same as a part of a sentence. */
export function described(error: unknown): Sayable {
  return error instanceof RegentError ? error.said : reported(describeError(error))
}
