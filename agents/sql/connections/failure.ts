import { describeError, RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sayable } from '#common/sentence/sentence.ts'

/** `ER_SERVER_SHUTDOWN` and `ER_NORMAL_SHUTDOWN`: the server says good-bye. */
const goodbyes: ReadonlySet<number> = new Set([1053, 1077])

/** `ER_QUERY_INTERRUPTED`. */
export const interrupted = 1317

/** The connection failed, not the statement: the answer is none of the server's, or its last. */
export function isTransport(error: unknown): boolean {
  const { errno, sqlState } = error as { errno?: number; sqlState?: string }
  return sqlState === undefined || sqlState === '' || errno === undefined || goodbyes.has(errno)
}

/**
 * A driver's error as Regent's. The driver's own holds the whole statement, passwords included, so only its numbers are
 * kept.
 */
export function describeFailure(statement: string, error: unknown): RegentError {
  if (error instanceof RegentError) return error
  const { errno, code, sqlState } = error as { errno?: number; code?: string; sqlState?: string }
  const cause = { errno, code, sqlState }
  const words = reported(withoutSecrets(statement, describeError(error)))
  if (!isTransport(error))
    return new RegentError('REGENT_SERVER_ERROR', say`${brief(statement)}: ${words} (${errno})`, { cause })
  // The words alone say what is wrong with a certificate.
  const why = code === undefined || code === 'HANDSHAKE_SSL_ERROR' ? words : code
  return new RegentError('REGENT_SERVER_DOWN', say`${brief(statement)}: ${why}`, { cause })
}

export function timeoutError(statement: string, deadlineMs: number, more: Sayable = ''): RegentError {
  return new RegentError(
    'REGENT_SERVER_TIMEOUT',
    say`no answer within ${Math.round(deadlineMs)} ms: ${brief(statement)}${more}`,
  )
}

/** The server's number of the error; 0 where it is none of the server's. */
export function errnoOf(error: unknown): number {
  const cause: unknown = error instanceof RegentError ? error.cause : undefined
  return typeof cause === 'object' && cause !== null && 'errno' in cause && typeof cause.errno === 'number'
    ? cause.errno
    : 0
}

/** `ER_BAD_DB_ERROR`, `ER_NO_SUCH_TABLE`. */
const missing: ReadonlySet<number> = new Set([1049, 1146])

/** The table of a statement, or the whole of its schema, is not there. */
export function isTableMissing(error: unknown): boolean {
  return missing.has(errnoOf(error))
}

/** A statement's first words without its literals: they may be passwords. */
export function brief(statement: string): string {
  const words = statement.replace(/'(?:[^']|'')*'?/g, '…').replace(/\s+/g, ' ')
  return words.length > 100 ? `${words.slice(0, 97)}…` : words
}

/** A syntax error quotes the statement from where it was not understood. */
function withoutSecrets(statement: string, message: string): string {
  const secrets = [...statement.matchAll(/(?:\bBY|PASSWORD\s*=)\s*'((?:[^']|'')*)'/gi)].map((match) => match[1] ?? '')
  return secrets.filter((secret) => secret !== '').reduce((text, secret) => text.replaceAll(secret, '…'), message)
}
