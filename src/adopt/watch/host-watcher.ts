import type { Clock } from '#common/ports/ports.ts'
import { describeError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Watch } from '#common/watch/watch.ts'
import { addressText } from '../host-address.ts'
import type { AdoptedHost } from '../adoption.ts'
import { failureOf, LookFailure } from '../servers/failure.ts'
import { readMore, type SeenMore } from '../servers/read-more.ts'
import { readFacts, readServer } from '../servers/read-server.ts'
import type { SeenServer, ServerFacts } from '../servers/seen.ts'
import { ServerSession, type Login } from '../servers/session.ts'
import type { Look } from './look.ts'
import { refuseUnreadable } from './understood.ts'

/** What does not change from one second to the next is read again after so many looks. */
const looksBetweenFacts = 30
const deadlineMs = 2_000
/** After so many failures in a row there is a rest before the next attempt. */
const restsMs = [0, 0, 1_000, 2_000, 5_000] as const

interface Answer {
  readonly server: SeenServer
  readonly more: SeenMore | undefined
}

interface HostWatcherOptions {
  readonly login: () => Promise<Login>
  readonly clock: Clock
  /** Is told of each look, and whether it went otherwise than the one before. */
  readonly saw: (look: Look, isOther: boolean) => void
  /** Whether somebody wants what only some ask for. */
  readonly wantsMore?: () => boolean
}

/** Looks at one server, by one session. The watcher has no say: it tells what it saw. */
export class HostWatcher implements Watch {
  readonly name: string
  readonly deadlineMs = 2 * deadlineMs
  readonly #host: AdoptedHost
  readonly #login: () => Promise<Login>
  readonly #clock: Clock
  readonly #saw: (look: Look, isOther: boolean) => void
  readonly #wantsMore: () => boolean
  #session: ServerSession | undefined
  #facts: ServerFacts | undefined
  #factsAge = 0
  #failures = 0
  #restsUntilMs = -Infinity
  #lookBeganMs = -Infinity
  #isStopped = false
  #look: Look

  constructor(host: AdoptedHost, { login, clock, saw, wantsMore = () => false }: HostWatcherOptions) {
    this.name = `server ${host.instance} at ${addressText(host)}`
    this.#host = host
    this.#login = login
    this.#clock = clock
    this.#saw = saw
    this.#wantsMore = wantsMore
    const sinceMs = clock.monotonicMs()
    const never = { askedMs: -Infinity, answeredMs: -Infinity, before: null, server: null }
    this.#look = { host, reach: null, why: '', sinceMs, ...never }
  }

  get newest(): Look {
    return this.#look
  }

  /** When the newest look that has ended began; monotonic milliseconds. */
  get lookBeganMs(): number {
    return this.#lookBeganMs
  }

  /** A server that does not answer is looked at without the rest that it would have. */
  wake(): void {
    this.#restsUntilMs = -Infinity
  }

  isDue(): boolean {
    return this.#clock.monotonicMs() >= this.#restsUntilMs
  }

  /** Rejects with why the server could not be looked at, after that was told. */
  async look(): Promise<void> {
    const askedMs = this.#clock.monotonicMs()
    try {
      this.#answered(await this.#read(), askedMs)
    } catch (error) {
      this.#failed(error)
      throw error
    } finally {
      this.#lookBeganMs = askedMs
    }
  }

  /** A look that is under way ends by itself, and nobody is told of it. */
  stop(): void {
    this.#isStopped = true
    this.#close()
  }

  #close(): void {
    this.#session?.close()
    this.#session = undefined
  }

  async #read(): Promise<Answer> {
    if (this.#session?.isOpen !== true) {
      this.#session = await this.#open()
      this.#facts = undefined
    }
    this.#factsAge += 1
    if (this.#facts === undefined || this.#factsAge > looksBetweenFacts) {
      this.#facts = await readFacts(this.#session, deadlineMs)
      this.#factsAge = 0
    }
    const server = await readServer(this.#session, this.#facts, deadlineMs)
    refuseUnreadable(server)
    const more = this.#wantsMore() ? await readMore(this.#session, this.#facts, deadlineMs) : undefined
    return { server, more }
  }

  async #open(): Promise<ServerSession> {
    const session = await ServerSession.open(this.#host, await this.#login(), deadlineMs)
    if (!this.#isStopped) return session
    session.close()
    throw new LookFailure('silent', say`nobody watches it any more`)
  }

  #answered({ server, more }: Answer, askedMs: number): void {
    const { server: last, answeredMs } = this.#look
    this.#failures = 0
    this.#restsUntilMs = -Infinity
    this.#tell({
      ...this.#look,
      ...(more && { more }),
      ...{ reach: 'answers', why: '', server, askedMs, answeredMs: this.#clock.monotonicMs() },
      before: last === null ? null : { executed: last.executed, answeredMs },
    })
  }

  #failed(error: unknown): void {
    const failure = failureOf(error)
    this.#close()
    this.#failures += 1
    this.#restsUntilMs = this.#clock.monotonicMs() + (restsMs[this.#failures] ?? restsMs.at(-1) ?? 0)
    this.#tell({ ...this.#look, reach: failure.reach, why: describeError(failure) })
  }

  #tell(look: Look): void {
    if (this.#isStopped) return
    const isOther = look.reach !== this.#look.reach
    this.#look = isOther ? { ...look, sinceMs: this.#clock.monotonicMs() } : look
    this.#saw(this.#look, isOther)
  }
}
