import type { Clock } from '../../src/common/ports/ports.ts'
import { account, literal } from '../instance/accounts.ts'
import { numberOf, textOf, type Sql } from './statements.ts'
import { timeoutError } from './failure.ts'
import type { Source } from './replication.ts'

/** A copy that did not move for this long is given up: the donor waits that long itself for a lock. */
const stalledMs = 300_000
const lookMs = 200

export interface CloneRequest {
  readonly directory: string
  readonly donor: Source
  /** What is copied comes over TLS, or not at all. */
  readonly encrypts: boolean
  readonly progress: (stage: string, percent: number) => void
}

/** The statement that runs for minutes; resolves at its end. `stop` ends it in the server. */
export type LongStatement = (statement: string, signal: AbortSignal) => Promise<unknown>

/**
 * CLONE INSTANCE into a fresh directory: the running server's own data is not touched, and it goes on. Progress is read
 * meanwhile.
 */
export async function cloneInto(
  ports: { readonly sql: Sql; readonly long: LongStatement; readonly clock: Clock },
  { directory, donor, encrypts, progress }: CloneRequest,
): Promise<void> {
  const { sql, long, clock } = ports
  await sql.change(`SET GLOBAL clone_valid_donor_list = ${literal(`${donor.host}:${donor.port}`)}`)
  const stop = new AbortController()
  let ended = false
  let movedAtMs = clock.monotonicMs()
  let before = ''
  const copy = long(
    `CLONE INSTANCE FROM ${account(donor.user, donor.host)}:${donor.port} IDENTIFIED BY ${literal(donor.password)} DATA DIRECTORY = ${literal(directory)}${encrypts ? ' REQUIRE SSL' : ''}`,
    stop.signal,
  ).finally(() => (ended = true))
  const watched = sql.until(
    async () => {
      if (ended) return true
      const seen = await readProgress(sql)
      if (seen && !ended) progress(seen.stage, seen.percent)
      const now = JSON.stringify(seen)
      if (now !== before) movedAtMs = clock.monotonicMs()
      before = now
      if (clock.monotonicMs() - movedAtMs > stalledMs)
        stop.abort(timeoutError(`CLONE INSTANCE FROM ${donor.host}`, stalledMs, ' of progress'))
      return false
    },
    Number.POSITIVE_INFINITY,
    lookMs,
  )
  await copy
  await watched
}

interface Progress {
  readonly stage: string
  readonly percent: number
  readonly bytes: number
}

/** Undefined before the copy has begun, or while the server does not answer: then it counts as not moving. */
async function readProgress(sql: Sql): Promise<Progress | undefined> {
  try {
    const [row] = await sql.read(
      "SELECT STAGE AS stage, DATA AS done, ROUND(100 * DATA / GREATEST(ESTIMATE, 1)) AS percent FROM performance_schema.clone_progress WHERE STATE = 'In Progress' LIMIT 1",
    )
    return (
      row && {
        stage: textOf(row, 'stage').toLowerCase(),
        percent: Math.min(100, numberOf(row, 'percent')),
        bytes: numberOf(row, 'done'),
      }
    )
  } catch {
    return undefined
  }
}
