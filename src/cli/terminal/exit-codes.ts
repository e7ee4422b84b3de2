import { RegentError } from '#common/errors/errors.ts'
import type { ErrorCode } from '#common/errors/error-catalogue.ts'

/** What the process's exit code says; scripts rely on it. */
export const exitCodes = {
  ok: 0,
  refused: 1,
  usage: 2,
  unreachable: 3,
  timedOut: 4,
  /** 128 and the number of SIGPIPE. */
  unread: 141,
} as const

export const exitCodeMeanings: Readonly<Record<number, string>> = {
  0: 'done',
  1: 'failed, or refused by the server',
  2: 'wrong usage: an option, argument or file is not valid; nothing was done',
  3: 'the server cannot be reached',
  4: 'it did not end in time',
  141: 'what it prints is read no more (`| head`); what it was doing may not be done',
}

const byCode: Partial<Record<ErrorCode, number>> = {
  REGENT_BAD_NAME: exitCodes.usage,
  REGENT_BAD_REQUEST: exitCodes.usage,
  REGENT_BAD_FILE: exitCodes.usage,
  REGENT_SETTINGS_REFUSED: exitCodes.usage,
  REGENT_API_UNREACHABLE: exitCodes.unreachable,
  REGENT_KUBE_UNREACHABLE: exitCodes.unreachable,
  REGENT_TIMED_OUT: exitCodes.timedOut,
}

/** The exit code that goes with an error. */
export function exitCodeOf(error: unknown): number {
  return error instanceof RegentError ? (byCode[error.code] ?? exitCodes.refused) : exitCodes.refused
}
