import { say } from '#common/sentence/sentence.ts'
import { hasStatementThatWaits, type LockNeeds } from '../guard/lock-watch.ts'
import { whyClosed } from '../instance/known.ts'
import type { Parts } from '../instance/parts.ts'
import { hasMajority } from '#topology/group/majority.ts'
import { unappliedOf } from '#topology/snapshot/holdings.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { writesHere } from './single-primary.ts'

type GroupLockNeedsParts = Pick<Parts, 'file' | 'guards' | 'observer' | 'process' | 'server' | 'timings'>

/**
 * A new primary of the group applies first what it received before, and keeps clients waiting for that. A client of a
 * secondary may hold what is written there: `LOCK TABLES … READ` of a dump, a global read lock, rows read `FOR UPDATE`.
 */
export class GroupLockNeeds implements LockNeeds {
  readonly purpose = say`the new primary needs that lock to apply what clients were told is written`
  readonly #parts: GroupLockNeedsParts

  constructor(parts: GroupLockNeedsParts) {
    this.#parts = parts
  }

  mayBeBlocked(): boolean {
    return this.#isToWrite() && (this.#takesNoWrites() || hasStatementThatWaits(this.#parts))
  }

  /** A dump that runs while all is well, or at a secondary, is left alone: that member applies later. */
  needNow(): string | null {
    return this.#isToWrite() && this.#takesNoWrites() ? 'it takes no writes' : null
  }

  /** The group has made it primary, and nobody keeps it closed on purpose. */
  #isToWrite(): boolean {
    const { observer, process, file, guards } = this.#parts
    const { server } = observer
    const { assignment } = file.current
    if (process.state !== 'running' || !server?.group || assignment === null) return false
    const isClosed = assignment.fenced || whyClosed(guards) !== null
    const isIn = server.group.state === 'ONLINE' && hasMajority(server.group)
    return !isClosed && isIn && writesHere(server, server.group, assignment)
  }

  #takesNoWrites(): boolean {
    const { observer, timings } = this.#parts
    return observer.silentMs >= timings.frozenMs || (observer.server !== null && isBehind(observer.server))
  }

  /** What was applied here is acknowledged by the group: no end of a session makes that untrue. */
  async doubt(): Promise<void> {}

  async endCommitting(): Promise<void> {}
}

function isBehind(server: ServerState): boolean {
  return server.superReadOnly && ((server.group?.applying ?? 0) > 0 || !unappliedOf(server).isEmpty())
}
