import { isIPv6 } from 'node:net'
import { hostPort } from '#common/text/host-port.ts'
import { described, describeError, RegentError } from '#common/errors/errors.ts'
import type { Clock } from '#common/ports/ports.ts'
import { reported, say, type Sentence } from '#common/sentence/sentence.ts'
import { account, literal } from '#agents/instance/accounts.ts'
import { numberOf, textOf, type Sql } from '../connections/statements.ts'
import { errnoOf, interrupted, timeoutError } from '../connections/failure.ts'
import type { CloneDonor, TellProgress } from '#agents/ports/server.ts'
import { kill, ownUser } from '../connections/sessions.ts'
import { openDoor } from './loopback-door.ts'

/** A copy that did not move for this long is given up: the donor waits that long itself for a lock. */
const stalledMs = 300_000
const lookMs = 200

export interface CloneRequest {
  readonly donor: CloneDonor
  /** What is copied comes over TLS, or not at all. */
  readonly encrypts: boolean
  readonly progress: TellProgress
  /** Aborted: the copy is given up. */
  readonly signal?: AbortSignal | undefined
}

/** The statement that runs for minutes; resolves at its end. `stop` ends it in the server. */
type LongStatement = (statement: string, signal: AbortSignal) => Promise<unknown>

interface ClonePorts {
  readonly sql: Sql
  readonly long: LongStatement
  readonly clock: Clock
  /** The server is on another machine than its agent. */
  readonly isFar?: boolean
}

/**
 * CLONE INSTANCE into a fresh directory: the running server's own data is not touched, and it goes on. Progress is read
 * meanwhile. Settings that MySQL wants to be the same on both are made the donor's until this server starts again.
 */
export function cloneInto(ports: ClonePorts, directory: string, request: CloneRequest): Promise<void> {
  return cloneInstance(ports, request, ` DATA DIRECTORY = ${literal(directory)}`)
}

/**
 * CLONE INSTANCE over the data of the running server, which then ends: `ER_RESTART_SERVER_FAILED`, where nobody starts
 * that server again; else the connection is lost. Resolves to the moment when that began, by the server's clock.
 */
export async function cloneOver(ports: ClonePorts, request: CloneRequest): Promise<string> {
  const [now] = await ports.sql.read('SELECT CAST(NOW(3) AS CHAR) AS now')
  await cloneInstance(ports, request, '').catch((error: unknown) => {
    const isLost = error instanceof RegentError && error.code === 'REGENT_SERVER_DOWN'
    if (!isLost && errnoOf(error) !== notStartedAgain) throw error
  })
  return textOf(now, 'now')
}

/** `ER_RESTART_SERVER_FAILED` */
const notStartedAgain = 3707

/** The server keeps what became of its last copy (manual, "Performance Schema Clone Tables"). */
export async function requireCopied(sql: Sql, begunAt: string): Promise<void> {
  const [row] = await sql.read(
    'SELECT STATE AS state, ERROR_MESSAGE AS error, CAST(BEGIN_TIME AS CHAR) AS begun FROM performance_schema.clone_status',
  )
  const of = (column: string): string => (row === undefined ? '' : textOf(row, column))
  const [state, error, begun] = [of('state'), of('error'), of('begun')]
  if (state === 'Completed' && begun >= begunAt) return
  const last = row === undefined ? say`none` : say`the last one began at ${begun} and is ${state} (${reported(error)})`
  throw new RegentError(
    'REGENT_SERVER_ERROR',
    say`the copy that began at ${begunAt} is not whole: of copies its server knows ${last}`,
  )
}

/** CLONE takes no address of IPv6 (manual, "Cloning Remote Data"): such a donor is reached by one of IPv4. */
async function cloneInstance(ports: ClonePorts, request: CloneRequest, where: string): Promise<void> {
  request.signal?.throwIfAborted()
  const { donor } = request
  if (!isIPv6(donor.host)) return cloneFrom(ports, request, where)
  if (ports.isFar === true)
    throw new RegentError(
      'REGENT_FAR_CANNOT',
      say`MySQL’s CLONE takes no address of IPv6, and ${hostPort(donor.host, donor.port)} is one: give this host by its name`,
    )
  const door = await openDoor(donor)
  try {
    await cloneFrom(ports, request, where, door)
  } finally {
    door.close()
  }
}

async function cloneFrom(
  ports: ClonePorts,
  { donor, encrypts, progress, signal }: CloneRequest,
  where: string,
  reached: Pick<CloneDonor, 'host' | 'port'> = donor,
): Promise<void> {
  await ports.sql.change(`SET GLOBAL clone_valid_donor_list = ${literal(`${reached.host}:${reached.port}`)}`)
  const from = `${account(donor.user, reached.host)}:${reached.port} IDENTIFIED BY ${literal(donor.password)}`
  const wanted: Copy = {
    statement: `CLONE INSTANCE FROM ${from}${where}${encrypts ? ' REQUIRE SSL' : ''}`,
    shown: `CLONE INSTANCE FROM ${donor.host}`,
    progress,
    ...(signal === undefined ? {} : { signal }),
  }
  for (let changes = 0; ; changes += 1) {
    try {
      return await copy(ports, wanted)
    } catch (error) {
      // The next copy begins with nothing left of this copy: a server makes one at a time (error 3634).
      if (signal?.aborted === true) await endClones(ports.sql, remoteClone).catch(() => undefined)
      const change = changes < comparedSettings ? asTheDonor(error) : null
      if (change === null) throw error
      await ports.sql.change(change)
    }
  }
}

/** `ER_CLONE_CONFIG`, told before anything is copied, one setting at a time. */
const settingDiffers = 3868
/**
 * Settings that CLONE compares, and a server can change while the server runs. A setting may change another: a
 * collation has its character set.
 */
const comparedSettings = 3
const difference = /(character_set_server|character_set_filesystem|collation_server): Donor value: (\w+) is different/

/** The statement that ends the difference for which a copy was refused; null for another refusal. */
function asTheDonor(error: unknown): string | null {
  const [, setting, value] = errnoOf(error) === settingDiffers ? (difference.exec(describeError(error)) ?? []) : []
  return setting === undefined ? null : `SET GLOBAL ${setting} = ${value}`
}

export interface LocalCloneRequest {
  readonly directory: string
  readonly progress: TellProgress
  /** Aborted: the copy is given up. */
  readonly signal: AbortSignal
}

/** So long a copy that was killed may take to let go of its folder. */
const endsMs = 30_000

/**
 * CLONE LOCAL into a fresh directory: a physical copy of the running server itself, which goes on. When this rejects
 * the server writes to the directory no more. Needs no server that takes writes, and holds no lock (seen on 9.7).
 */
export async function cloneLocal(ports: ClonePorts, { directory, progress, signal }: LocalCloneRequest): Promise<void> {
  signal.throwIfAborted()
  try {
    await copy(ports, {
      statement: `${localClone} = ${literal(directory)}`,
      shown: localClone,
      progress,
      signal,
    })
  } catch (error) {
    // A server that is gone writes nothing. A server that hangs is seen elsewhere.
    await endLocalClones(ports.sql).catch(() => undefined)
    throw explained(error)
  }
}

function explained(error: unknown): unknown {
  switch (errnoOf(error)) {
    case tooMany:
      return new RegentError(
        'REGENT_BUSY',
        say`another instance is being made as a copy of this server: mysqld gives one copy at a time`,
        { cause: error },
      )
    case interrupted:
      return new RegentError('REGENT_SERVER_ERROR', say`${described(error)}; ${whyInterrupted}`, { cause: error })
    default:
      return error
  }
}

const localClone = 'CLONE LOCAL DATA DIRECTORY'
const remoteClone = 'CLONE INSTANCE FROM'
/** `ER_CLONE_TOO_MANY_CONCURRENT_CLONES`. */
const tooMany = 3634
/**
 * Where InnoDB could not write what changes during a copy (`#ib_archive`) its archiver ends for good, and each later
 * CLONE fails at once as interrupted (seen on 9.7).
 */
const whyInterrupted = say`it was killed by hand, or the disk was full during an earlier copy: mysqld gives none until it is started again; copy another instance, or restart this one`

/**
 * Ends copies of this server that its agent has begun: also those of an agent that died, which the server would finish
 * for nobody. Rejects with `REGENT_SERVER_TIMEOUT` where one stays.
 */
export function endLocalClones(sql: Sql): Promise<void> {
  return endClones(sql, localClone)
}

/** @param statement what the statements of these copies begin with */
async function endClones(sql: Sql, statement: string): Promise<void> {
  const gone = await sql.until(
    async () => {
      const left = await sql.read(
        'SELECT PROCESSLIST_ID AS id, PROCESSLIST_COMMAND AS command FROM performance_schema.threads ' +
          `WHERE PROCESSLIST_USER = ${ownUser} AND PROCESSLIST_INFO LIKE '${statement}%'`,
      )
      for (const row of left) if (textOf(row, 'command') !== 'Killed') await kill(sql, numberOf(row, 'id'))
      return left.length === 0
    },
    endsMs,
    lookMs,
  )
  if (!gone) throw timeoutError(statement, endsMs, say`; it was killed and has not ended yet`)
}

interface Copy {
  readonly statement: string
  /** As a message may show the statement. */
  readonly shown: string
  readonly progress: TellProgress
  readonly signal?: AbortSignal
}

async function copy({ sql, long, clock }: ClonePorts, { statement, shown, progress, signal }: Copy): Promise<void> {
  // A signal that was aborted before this tells nobody again.
  signal?.throwIfAborted()
  const stop = new AbortController()
  const giveUp = (): void => stop.abort(signal?.reason)
  signal?.addEventListener('abort', giveUp, { once: true })
  let ended = false
  let movedAtMs = clock.monotonicMs()
  let before = ''
  const copying = long(statement, stop.signal).finally(() => {
    ended = true
    signal?.removeEventListener('abort', giveUp)
  })
  const watched = sql.until(
    async () => {
      if (ended) return true
      const seen = await readProgress(sql)
      const now = JSON.stringify(seen)
      if (now !== before) movedAtMs = clock.monotonicMs()
      before = now
      const stillMs = clock.monotonicMs() - movedAtMs
      if (seen && !ended) progress(seen.stage, seen.percent, stillMs)
      if (stillMs > stalledMs) stop.abort(timeoutError(shown, stalledMs, say` of progress`))
      return false
    },
    Number.POSITIVE_INFINITY,
    lookMs,
  )
  await copying
  await watched
}

interface Progress {
  readonly stage: Sentence
  readonly percent: number
  readonly bytes: number
}

/** Undefined before the copy has begun, or while the server does not answer: then it counts as not moving. */
async function readProgress(sql: Sql): Promise<Progress | undefined> {
  try {
    const [row] = await sql.read(
      'SELECT STAGE AS stage, DATA AS done, ROUND(100 * DATA / GREATEST(ESTIMATE, 1)) AS percent FROM ' +
        "performance_schema.clone_progress WHERE STATE = 'In Progress' LIMIT 1",
    )
    return (
      row && {
        stage: say`${textOf(row, 'stage').toLowerCase()}`,
        percent: Math.min(100, numberOf(row, 'percent')),
        bytes: numberOf(row, 'done'),
      }
    )
  } catch {
    return undefined
  }
}
