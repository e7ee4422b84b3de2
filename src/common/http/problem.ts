import type { Place } from '../sentence/command.ts'
import { say, type Heard } from '../sentence/sentence.ts'
import { catalogue, remedyOf, type ErrorCode } from '../errors/error-catalogue.ts'
import { codeOf, RegentError } from '../errors/errors.ts'

/**
 * How every HTTP error of Regent is answered: RFC 9457 problem details, with the catalogue's code and remedy beside
 * them.
 */
export interface Problem {
  /** `urn:regent:error:<code>`: a name, not an address. */
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: ErrorCode
  /** What was wrong, where, with the value. */
  readonly detail: Heard
  /** What to do about it; '' where the detail names the command already. */
  readonly remedy: string
  /** Path of the request. */
  readonly instance: string
}

export const problemContentType = 'application/problem+json; charset=utf-8'

/**
 * The problem document of any thrown value. What is not a RegentError becomes `REGENT_INTERNAL` without its message:
 * that may hold what is nobody's business, and belongs into the log.
 */
export function problemOf(error: unknown, instance: string, where: Place['kind'] = 'local'): Problem {
  const code = codeOf(error)
  const { status, title } = catalogue[code]
  const remedy = error instanceof RegentError ? error.remedyIn(where) : remedyOf(code, where)
  const isTold = error instanceof RegentError && code !== 'REGENT_INTERNAL'
  const detail = isTold ? error.said : say`${instance} could not be answered`
  return { type: `urn:regent:error:${code}`, title, status, code, detail, remedy, instance }
}
