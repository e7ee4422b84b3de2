import type { GroupState, ServerState } from '#topology/snapshot/observation.ts'
import type { Timer } from '#common/ports/ports.ts'
import type { Parts } from '../instance/parts.ts'

/** Clients wait for another view of the group to be seen after a death, and nothing tells of one. */
const lookMs = 50

/** Has a member look at everything as soon as its view of the group is another one. */
export class ViewWatch {
  readonly #parts: Parts
  #timer: Timer | null = null
  #isAsking = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  start(): void {
    this.#timer = this.#parts.world.timers.every(lookMs, () => void this.#look())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  /** Never rejects: a server that does not answer is the observer's to tell of. */
  async #look(): Promise<void> {
    const { observer, process, server } = this.#parts
    const seen = observer.server
    if (this.#isAsking || seen?.group?.state !== 'ONLINE' || process.state !== 'running' || !server.group) return
    this.#isAsking = true
    try {
      if (isSettled(seen, seen.group) && (await server.group.viewId()) === seen.group.viewId) return
      observer.outdate()
      await observer.refresh()
    } catch {
      // Asked again at the next look.
    } finally {
      this.#isAsking = false
    }
  }
}

/** The view has a primary, which takes writes where it is this server: the election follows the view within moments. */
function isSettled({ uuid, superReadOnly }: ServerState, { members }: GroupState): boolean {
  const primary = members.find(({ role, state }) => role === 'PRIMARY' && state === 'ONLINE')
  return primary !== undefined && (primary.uuid !== uuid || !superReadOnly)
}
