import type { Watch } from '#common/watch/watch.ts'
import type { Parts } from '../instance/parts.ts'

/** XCom takes the median of its last 19. */
const wanted = 20
/**
 * Where nobody agrees each message keeps a session of the server waiting: the rest after a failure is twice that of the
 * one before. A member that has just come needs more than the deadline at times, and its next message none.
 */
const restMs = { first: 50, longest: 1_000 }

/**
 * Has a member that is new in its group send twenty messages at once.
 *
 * XCom waits for a dead member's turn 0.1 s and five to six times as long as an agreement takes. Each member measures
 * that by its own messages, and supposes 0.1 s before it has sent ten (`wakeup_delay` of `xcom_base.cc`). By itself a
 * secondary sends one in a second. Where the survivors were younger than that clients waited 2.7 to 3.0 s for another
 * primary, and 0.5 s since (the oldest of three killed; four runs each).
 */
export class FirstMessages implements Watch {
  readonly name = 'the first messages of a member'
  readonly #parts: Pick<Parts, 'observer' | 'process' | 'server' | 'world'>
  #pid: number | null = null
  #sent = 0
  #restMs = restMs.first
  #restsUntilMs = 0

  constructor(parts: Pick<Parts, 'observer' | 'process' | 'server' | 'world'>) {
    this.#parts = parts
  }

  while(): boolean {
    return this.#isMember()
  }

  isDue(): boolean {
    return this.#sent < wanted && this.#parts.world.clock.monotonicMs() >= this.#restsUntilMs
  }

  /**
   * Sends what is left to send, one after the other. A message that nobody agrees on in time may not have been sent.
   */
  async look(): Promise<void> {
    const { server, world } = this.#parts
    try {
      for (; this.#sent < wanted && this.#isMember(); this.#sent += 1) {
        await server.group?.agree()
        this.#restMs = restMs.first
      }
    } catch {
      this.#restsUntilMs = world.clock.monotonicMs() + this.#restMs
      this.#restMs = Math.min(2 * this.#restMs, restMs.longest)
    }
  }

  /** A server that starts, or joins, begins anew. */
  #isMember(): boolean {
    const { process, observer } = this.#parts
    const isOnline = observer.server?.group?.state === 'ONLINE'
    if (process.pid !== this.#pid || !isOnline) this.#sent = 0
    this.#pid = process.pid
    return isOnline && process.state === 'running'
  }
}
