import { say, text } from '#common/sentence/sentence.ts'
import type { Watch } from '#common/watch/watch.ts'
import type { Parts } from '../instance/parts.ts'

/** So long a replica is tried again, and a primary, whose end is a failover: another start of its agent may help. */
const patienceMs = { replica: 2_000, primary: 8_000 } as const
/** Statements at a start that do not help are not tried again at once. */
const betweenMs = 60_000

type LockedOutWatchParts = Pick<
  Parts,
  'config' | 'file' | 'notices' | 'observer' | 'pod' | 'process' | 'server' | 'world'
>

/**
 * A server that refuses its own agent, with no session open from before: its accounts were taken away, or it takes
 * logins only with a compression that agents do not speak, and mysqld or the agent was started since. Nobody can put
 * that right from outside. mysqld is ended and started again, with the statements that make the accounts. A primary is
 * failed over, as any that ends. The account at a far server is its owner's, and no start makes it: that is said.
 */
export class LockedOutWatch implements Watch {
  readonly name = 'a server that refuses its agent'
  readonly failure = { code: 'HungServer', sentence: say`mysqld hangs and could not be ended` }
  readonly #parts: LockedOutWatchParts
  #sinceMs: number | null = null
  #endedAtMs = -Infinity
  /** Nothing is left of a start that made accounts, of an earlier agent's either. */
  #isTidy = false

  constructor(parts: LockedOutWatchParts) {
    this.#parts = parts
  }

  async look(): Promise<void> {
    const { server, world, pod } = this.#parts
    await this.#tidy()
    const why = this.#isUnheard() ? await server.whyRefused() : ''
    const nowMs = world.clock.monotonicMs()
    if (why === '' || !this.#isUnheard() || pod.termination !== null) return void (this.#sinceMs = null)
    this.#sinceMs ??= nowMs
    const patience = this.#parts.file.current.assignment?.role === 'primary' ? patienceMs.primary : patienceMs.replica
    if (nowMs - this.#sinceMs < patience || nowMs - this.#endedAtMs < betweenMs) return
    this.#endedAtMs = nowMs
    this.#sinceMs = null
    await this.#letInAgain(why)
  }

  async #letInAgain(why: string): Promise<void> {
    const { process, notices, config } = this.#parts
    if (config.far !== undefined)
      return notices.add(
        'LockedOut',
        say`mysqld refuses its own agent (${text(why)}): give account ${config.far.user} back to it, or its password file the password`,
      )
    notices.add(
      'LockedOut',
      say`mysqld refuses its own agent (${text(why)}): it is ended, and started again with that account, and with its own settings`,
    )
    this.#isTidy = false
    process.accountsAtStart()
    await process.kill()
  }

  async #tidy(): Promise<void> {
    const { observer, process } = this.#parts
    if (this.#isTidy || observer.server === null || process.state !== 'running') return
    await process.dropAccountsFile()
    this.#isTidy = true
  }

  #isUnheard(): boolean {
    const { process, observer } = this.#parts
    return process.state === 'running' && (observer.server === null || observer.silentMs > 0)
  }
}
