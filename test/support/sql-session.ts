import { createConnection, type Connection } from 'mysql2/promise'
import { patienceMs } from './patience.ts'

export interface Login {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database?: string
  /** TLS; without it none is used. */
  readonly ssl?: { readonly rejectUnauthorized: boolean }
}

/**
 * A session over TCP. Rejects when the server has not let it in within `deadlineMs`. A session that is cut off later
 * says so at its next query.
 */
export async function openSession(login: Login, deadlineMs: number): Promise<Connection> {
  const connection = await createConnection({
    ...login,
    connectTimeout: deadlineMs,
    multipleStatements: false,
    supportBigNumbers: true,
  })
  connection.on('error', () => undefined)
  return connection
}

/** So many logins at a time. */
const loginsAtOnce = 50

/** So many sessions, a few at a time. */
export async function openMany(count: number, open: () => Promise<Connection>): Promise<readonly Connection[]> {
  const opened: Connection[] = []
  while (opened.length < count) {
    const next = Math.min(loginsAtOnce, count - opened.length)
    opened.push(...(await Promise.all(Array.from({ length: next }, open))))
  }
  return opened
}

/** The rows of one query. Rejects, and drops the session, when they are not there within `deadlineMs`. */
export async function queryWithin(
  connection: Connection,
  statement: string,
  deadlineMs: number,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const found = await answerWithin(connection, statement, deadlineMs)
  return Array.isArray(found) ? (found as Readonly<Record<string, unknown>>[]) : []
}

/** What the server says to one statement: rows, or a header of the result. Rejects as `queryWithin` does. */
export async function answerWithin(connection: Connection, statement: string, deadlineMs: number): Promise<unknown> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    connection.destroy()
    late.reject(new Error(`no answer within ${deadlineMs} ms to: ${statement}`))
  }, deadlineMs)
  try {
    const [found] = await Promise.race([connection.query(statement), late.promise])
    return found
  } finally {
    clearTimeout(timer)
  }
}

/** The first column of the first row of one query, as text. Rejects as `queryWithin` does. */
export async function firstValue(connection: Connection, statement: string, deadlineMs = patienceMs): Promise<string> {
  return String(Object.values((await queryWithin(connection, statement, deadlineMs))[0] ?? {})[0])
}
