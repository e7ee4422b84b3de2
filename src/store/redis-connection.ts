import { Redis } from 'ioredis'
import { described, describeError, RegentError } from '#common/errors/errors.ts'
import { say, text } from '#common/sentence/sentence.ts'
import { realTimers } from '#common/ports/real-world.ts'
import type { RedisAddress } from './redis-address.ts'
import { dangersIn, parseInfo, rewriteRunning, settings } from './redis-safety.ts'

export interface RedisConnectionOptions {
  readonly deadlineMs: number
  /** Do not ask whether this Redis keeps what it confirms. */
  readonly allowVolatile: boolean
}

interface Opened {
  readonly client: Redis
  readonly clientId: number
  /** Names one run of the server's process. */
  readonly runId: string
}

/**
 * A connection to one Redis, made when it is needed and checked for safety each time it is made: the server may have
 * been restarted with other settings. Nothing is queued, retried or sent twice: after any failure the connection is
 * given up, and the next command begins with a new one.
 */
export class RedisConnection {
  readonly #address: RedisAddress
  readonly #options: RedisConnectionOptions
  /** The connection in use or in the making; `#live` is the same once it is made. */
  #current: Promise<Opened> | undefined
  #live: Opened | undefined
  #abandoned: Opened | undefined
  #closed = false

  constructor(address: RedisAddress, options: RedisConnectionOptions) {
    this.#address = address
    this.#options = options
  }

  /**
   * Gives `work` a connection that was checked. Rejects with what went wrong in plain words; once `signal` is aborted,
   * nothing more is sent and what waits is given up.
   */
  async run<Result>(signal: AbortSignal, work: (client: Redis) => Promise<Result>): Promise<Result> {
    const opened = await this.#use()
    signal.throwIfAborted()
    const giveUp = () => this.#drop(opened)
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      return await work(opened.client)
    } catch (error) {
      giveUp()
      throw this.#told(error)
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    const opened = await this.#current?.catch(() => undefined)
    opened?.client.disconnect()
  }

  async #use(): Promise<Opened> {
    // An attempt that began before this call may fail for a reason that is past: then this call makes its own.
    const earlier = await this.#current?.catch(() => undefined)
    if (earlier !== undefined) return earlier
    if (this.#closed) throw new Error('the store was closed')
    if (this.#current === undefined) {
      const opening = this.#open()
      this.#current = opening
      opening.catch(() => this.#forget(opening))
    }
    return this.#current
  }

  #forget(opening: Promise<Opened>): void {
    if (this.#current === opening) this.#current = undefined
  }

  #drop(opened: Opened): void {
    opened.client.disconnect()
    if (this.#live !== opened) return
    this.#live = undefined
    this.#current = undefined
    this.#abandoned = opened
  }

  async #open(): Promise<Opened> {
    const client = new Redis({
      ...this.#address.options,
      lazyConnect: true,
      connectTimeout: this.#options.deadlineMs,
      commandTimeout: this.#options.deadlineMs,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      connectionName: 'regent',
    })
    // The first error has the reason; what the calls reject with is only that the connection is closed.
    let reason: unknown
    client.on('error', (error) => {
      reason ??= error
    })
    const tooLate = realTimers.after(this.#options.deadlineMs, () => {
      reason ??= this.#tooLate()
      client.disconnect()
    })
    try {
      await client.connect()
      const opened = await this.#prepare(client)
      this.#live = opened
      client.once('end', () => this.#drop(opened))
      return opened
    } catch (error) {
      client.disconnect()
      throw this.#told(reason ?? error)
    } finally {
      tooLate.cancel()
    }
  }

  #tooLate(): Error {
    return new Error(`no answer within ${this.#options.deadlineMs} ms`)
  }

  #told(error: unknown): Error {
    return isTooLate(error) ? this.#tooLate() : withoutSecrets(error)
  }

  async #prepare(client: Redis): Promise<Opened> {
    const info = parseInfo(await client.info())
    const opened = { client, clientId: await client.client('ID'), runId: info['run_id'] ?? '' }
    await this.#silence(client, opened.runId)
    if (!this.#options.allowVolatile) await assertSafe(client, this.#address.shown)
    return opened
  }

  /**
   * Has the server end the connection that was given up before. What was sent on it may still wait there unread, and
   * would otherwise happen after the caller has read again what came of it.
   */
  async #silence(client: Redis, runId: string): Promise<void> {
    if (this.#abandoned?.runId === runId) await client.client('KILL', 'ID', this.#abandoned.clientId)
    this.#abandoned = undefined
  }
}

/** @throws RegentError `REGENT_STORE_UNSAFE` with every reason and its remedy */
async function assertSafe(client: Redis, place: string): Promise<void> {
  const info = await infoAfterRewrite(client, place)
  const listening = await client.pubsub('NUMSUB', '__sentinel__:hello')
  const dangers = dangersIn({ config: await configOf(client, place), info, sentinels: Number(listening[1] ?? 0) })
  if (dangers.length > 0)
    throw new RegentError(
      'REGENT_STORE_UNSAFE',
      say`${place} could lose what it confirmed: ${text(dangers.join('; '))}.`,
    )
}

async function infoAfterRewrite(client: Redis, place: string): Promise<Readonly<Record<string, string>>> {
  for (let look = 0; look < 50; look++) {
    const info = parseInfo(await client.info())
    if (!rewriteRunning(info)) return info
    await realTimers.sleep(20)
  }
  throw new RegentError(
    'REGENT_STORE_UNAVAILABLE',
    say`${place} rewrites its append-only file, perhaps for the first time; what it confirms may be lost until that ends.`,
  )
}

async function configOf(client: Redis, place: string): Promise<Record<string, string | undefined>> {
  try {
    const answers = await Promise.all(settings.map(({ name }) => client.config('GET', name)))
    return Object.fromEntries((answers as [string?, string?][]).map(([name, value]) => [name ?? '', value]))
  } catch (error) {
    if (!describeError(error).startsWith('NOPERM') && !describeError(error).startsWith('ERR unknown command'))
      throw error
    throw new RegentError(
      'REGENT_STORE_UNSAFE',
      say`${place} does not tell whether it is safe (${described(error)}): ACL SETUSER <user> +config|get +info +pubsub|numsub +client|id +client|kill.`,
    )
  }
}

/** Which of the deadlines of one length ends first is a matter of a millisecond: all of them are told in one way. */
function isTooLate(error: unknown): boolean {
  return /^(Command timed out|connect ETIMEDOUT)/.test(describeError(error))
}

/** ioredis hangs the command with its arguments on its errors; that of a refused login holds the password. */
function withoutSecrets(error: unknown): Error {
  return error instanceof RegentError ? error : new Error(describeError(error))
}
