import type { Watch } from '#common/watch/watch.ts'
import { wholeGroupUnder } from '#topology/group/majority.ts'
import type { Parts } from '../instance/parts.ts'

/** XCom keeps the newest four at least, and the others until their messages are delivered (`site_def.cc`). */
const repetitions = 10
/** The group has agreed on one before the next. */
const betweenMs = 150
/**
 * So long a group rests after a change of its view. Configurations that were repeated within 9 s of a loss left the
 * lost member known to one of two others (ten of ten times); later ones did not (16 of 16).
 */
const restMs = 12_000

/** So long after a member was lost the others have forgotten the member: the repetitions too are over. */
export const forgottenAfterMs = restMs + repetitions * betweenMs + 1_000

/**
 * Has a group forget the addresses that its members have left.
 *
 * XCom keeps dialling a member that was lost, less and less often. A member that joins at the same address takes part
 * only once the others have dialled it: until then each write waits 0.25 s, and a dial while it recovers stops all
 * writes for 2.7 s. A member that nobody knows is dialled at once.
 *
 * A member that joins gets the last configurations of its group, too, and dials each address in them, one after
 * another; a dial to where nobody is takes a second (`dial` in `xcom_transport.cc`), and meanwhile the group, writes
 * included, waits for the new member. A pod that is made again has another address than before.
 *
 * So the agent of the primary has the group agree on the configuration that the group has, again and again, until the
 * older ones are dropped: after each change of the view, once every member is online.
 */
export class OldAddresses implements Watch {
  readonly name = 'addresses that members have left'
  readonly #parts: Pick<Parts, 'observer' | 'process' | 'server' | 'world'>
  /** When they are to be forgotten in the view that was seen last; once that has begun, never again. */
  #due = { viewId: '', atMs: Infinity }

  constructor(parts: Pick<Parts, 'observer' | 'process' | 'server' | 'world'>) {
    this.#parts = parts
  }

  while(): boolean {
    return this.#viewId() !== '' && this.#parts.process.state === 'running'
  }

  isDue(): boolean {
    const viewId = this.#viewId()
    const nowMs = this.#parts.world.clock.monotonicMs()
    if (viewId !== this.#due.viewId) this.#due = { viewId, atMs: nowMs + restMs }
    return nowMs >= this.#due.atMs
  }

  /** A failed agreement is made good by the next. */
  async look(): Promise<void> {
    const { server, world } = this.#parts
    const viewId = this.#viewId()
    this.#due = { viewId, atMs: Infinity }
    for (let left = repetitions; left > 0 && this.#viewId() === viewId; left--) {
      await server.group?.repeatConfiguration().catch(() => undefined)
      await world.timers.sleep(betweenMs)
    }
  }

  /** The id of the view, while all members of the group under this server are online; '' otherwise. */
  #viewId(): string {
    return wholeGroupUnder(this.#parts.observer.server)?.viewId ?? ''
  }
}
