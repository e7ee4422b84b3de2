import type { Watch } from '#common/watch/watch.ts'
import { groupHost } from '#failover/protocol/group-address.ts'
import { wholeGroupUnder } from '#topology/group/majority.ts'
import type { Parts } from '../instance/parts.ts'

/** XCom keeps the newest four at least, and the others until their messages are delivered (`site_def.cc`). */
const repetitions = 6
/** The group has agreed on one before the next. */
const betweenMs = 100

/**
 * Has a group forget the addresses that its members have left.
 *
 * A member that joins gets the last configurations of its group, and dials each address in them, one after another; a
 * dial to where nobody is takes a second (`dial` in `xcom_transport.cc`), and meanwhile the group, writes included,
 * waits for the new member. A pod that is made again has another address than before. The agent of the primary has the
 * group agree on the configuration that the group has, again and again, until the older ones are dropped: after each
 * change of the view, once every member is online. Addresses of the loopback network refuse at once.
 */
export class OldAddresses implements Watch {
  readonly name = 'addresses that members have left'
  readonly #parts: Parts
  /** The view in which they were forgotten last. */
  #viewId = ''

  constructor(parts: Parts) {
    this.#parts = parts
  }

  while(): boolean {
    const { observer, process } = this.#parts
    return wholeGroupUnder(observer.server) !== undefined && process.state === 'running'
  }

  isDue(): boolean {
    return wholeGroupUnder(this.#parts.observer.server)?.viewId !== this.#viewId
  }

  async look(): Promise<void> {
    const { config, observer } = this.#parts
    this.#viewId = wholeGroupUnder(observer.server)?.viewId ?? ''
    if (groupHost(config.host) !== '127.0.0.1') await this.#forget(this.#viewId)
  }

  /** A failed agreement is made good by the next. */
  async #forget(viewId: string): Promise<void> {
    const { observer, server, world } = this.#parts
    for (let left = repetitions; left > 0 && wholeGroupUnder(observer.server)?.viewId === viewId; left--) {
      await server.group?.repeatConfiguration().catch(() => undefined)
      await world.timers.sleep(betweenMs)
    }
  }
}
