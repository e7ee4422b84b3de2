import type { GroupState, ServerState } from '#topology/snapshot/observation.ts'
import type { Watch } from '#common/watch/watch.ts'
import type { Parts } from '../instance/parts.ts'

/** Clients wait for another view of the group to be seen after a death, and nothing tells of one. */
export const viewLookMs = 50

/** Has a member look at everything as soon as its view of the group is another one. */
export class ViewWatch implements Watch {
  readonly name = 'the view of the group'
  readonly #parts: Pick<Parts, 'observer' | 'process' | 'server'>

  constructor(parts: Pick<Parts, 'observer' | 'process' | 'server'>) {
    this.#parts = parts
  }

  while(): boolean {
    const { observer, process } = this.#parts
    return observer.server?.group?.state === 'ONLINE' && process.state === 'running'
  }

  /** A server that does not answer is the observer's to tell of. */
  async look(): Promise<void> {
    const { observer, server } = this.#parts
    const seen = observer.server
    if (!seen?.group || !server.group) return
    if (isSettled(seen, seen.group) && (await server.group.viewId()) === seen.group.viewId) return
    observer.outdate()
    await observer.refresh()
  }
}

/** The view has a primary, which takes writes where it is this server: the election follows the view within moments. */
function isSettled({ uuid, superReadOnly }: ServerState, { members }: GroupState): boolean {
  const primary = members.find(({ role, state }) => role === 'PRIMARY' && state === 'ONLINE')
  return primary !== undefined && (primary.uuid !== uuid || !superReadOnly)
}
