import { RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Reach } from './seen.ts'

/** Why a server could not be looked at. */
export class LookFailure extends RegentError {
  readonly reach: Exclude<Reach, 'answers'>

  constructor(reach: Exclude<Reach, 'answers'>, words: Sentence, cause?: unknown) {
    super('REGENT_SERVER_DOWN', words, { cause })
    this.reach = reach
  }
}

/** `ER_CON_COUNT_ERROR`, `ER_TOO_MANY_USER_CONNECTIONS`, `ER_USER_LIMIT_REACHED`. */
const full: ReadonlySet<number> = new Set([1040, 1203, 1226])

/** `ER_SERVER_SHUTDOWN`, `ER_NORMAL_SHUTDOWN`: mysqld is going. */
const ending: ReadonlySet<number> = new Set([1053, 1077, 1079])

/**
 * What went wrong, as what it says of the server. A server that refuses an account, or has too many connections, is
 * alive: no failover comes of that.
 */
export function failureOf(error: unknown): LookFailure {
  if (error instanceof LookFailure) return error
  const {
    errno,
    code = '',
    message = String(error),
  } = (error instanceof Error ? error : {}) as {
    errno?: number
    code?: string
    message?: string
  }
  return new LookFailure(reachBy(errno ?? 0, code), say`${reported(message.split('\n', 1)[0] ?? '')}`, error)
}

const byCode: Readonly<Record<string, Exclude<Reach, 'answers'>>> = {
  ENOTFOUND: 'unresolved',
  EAI_AGAIN: 'unresolved',
  EAI_NODATA: 'unresolved',
  ECONNREFUSED: 'refused',
  ECONNRESET: 'refused',
  EPIPE: 'refused',
  PROTOCOL_CONNECTION_LOST: 'refused',
  ETIMEDOUT: 'silent',
  EHOSTDOWN: 'silent',
  EHOSTUNREACH: 'silent',
  ENETDOWN: 'silent',
  ENETUNREACH: 'silent',
}

function reachBy(errno: number, code: string): Exclude<Reach, 'answers'> {
  if (full.has(errno)) return 'full'
  if (ending.has(errno)) return 'refused'
  // The server's own numbers begin at 1000; those of the system are negative.
  if (errno >= 1000) return 'lockedOut'
  // A certificate that will not do, or a file that is missing here, is no silence: nobody leads because of that.
  return byCode[code] ?? 'unasked'
}
