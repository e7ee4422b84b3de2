import { say } from '#common/sentence/sentence.ts'
import { described } from '#common/errors/errors.ts'
import type { Watch } from '#common/watch/watch.ts'
import { compareVersions, highestProtocolOf, lowestOf } from '#topology/group/versions.ts'
import { wholeGroupUnder } from '#topology/group/majority.ts'
import type { GroupState } from '#topology/snapshot/observation.ts'
import type { Parts } from '../instance/parts.ts'

const lookMs = 5_000
/** The group holds its messages back until all have agreed. */
const raiseMs = 20_000
/** In one view the protocol is raised once; who has the group speak an older one on purpose is not fought. */
const betweenMs = 600_000

/**
 * A group goes on speaking the protocol of the version that formed the group, whatever its members run later (manual,
 * "Setting a Group's Communication Protocol Version"). The agent of the primary raises the protocol once an upgrade is
 * over.
 */
export class ProtocolWatch implements Watch {
  readonly name = 'the protocol of the group'
  readonly #parts: Pick<Parts, 'notices' | 'observer' | 'process' | 'server' | 'world'>
  #lookedAtMs = -Infinity
  #raised = { atMs: -Infinity, viewId: '' }

  constructor(parts: Pick<Parts, 'notices' | 'observer' | 'process' | 'server' | 'world'>) {
    this.#parts = parts
  }

  /** The group changes its protocol only while each of its members is online. */
  while(): boolean {
    const { observer, process } = this.#parts
    return wholeGroupUnder(observer.server) !== undefined && process.state === 'running'
  }

  isDue(): boolean {
    const { observer, world } = this.#parts
    const nowMs = world.clock.monotonicMs()
    const wasRaised = this.#raised.viewId === wholeGroupUnder(observer.server)?.viewId
    return nowMs - this.#lookedAtMs >= lookMs && !(wasRaised && nowMs - this.#raised.atMs < betweenMs)
  }

  async look(): Promise<void> {
    const { observer, world } = this.#parts
    const group = wholeGroupUnder(observer.server)
    this.#lookedAtMs = world.clock.monotonicMs()
    if (group !== undefined) await this.#compare(group)
  }

  async #compare({ members, viewId }: GroupState): Promise<void> {
    const { server, world } = this.#parts
    const versions = members.map(({ version }) => version)
    const highest = highestProtocolOf(versions)
    // A server that did not answer is asked again at the next look.
    const spoken = (await server.group?.protocol().catch(() => '')) ?? ''
    if (highest === '' || spoken === '' || compareVersions(spoken, highest) >= 0) return
    this.#raised = { atMs: world.clock.monotonicMs(), viewId }
    await this.#raise(highest, `each member runs MySQL ${lowestOf(versions)} or newer, and the group spoke ${spoken}`)
  }

  async #raise(highest: string, why: string): Promise<void> {
    const { server, notices } = this.#parts
    try {
      await server.group?.setProtocol(highest, raiseMs)
      notices.add('GroupProtocolRaised', say`the group speaks protocol ${highest} from now on: ${why}`)
    } catch (error) {
      notices.add(
        'GroupProtocolStays',
        say`the protocol could not be raised to ${highest}: ${described(error)}; ${why}`,
      )
    }
  }
}
