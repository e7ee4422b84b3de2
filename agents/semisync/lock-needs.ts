import { say } from '#common/sentence/sentence.ts'
import { hasStatementThatWaits, sentenceAbout, type LockNeeds } from '../guard/lock-watch.ts'
import { learn, type Learner } from '../instance/learn.ts'
import { leadingOf, lifeOf } from '../instance/life.ts'
import { isCounted } from './acknowledgers.ts'
import { whyClosed } from '../instance/known.ts'
import type { Parts } from '../instance/parts.ts'
import type { Blocker } from '../ports/server.ts'
import { leads } from '../instance/stored-state.ts'
import { keepUnsettled } from '../doubts/unsettled.ts'

type SemisyncLockNeedsParts = Learner &
  Pick<Parts, 'file' | 'notices' | 'observer' | 'process' | 'server' | 'timings' | 'world'>

/**
 * A gate's `ALTER USER`, the marker and a replica's login can stand behind locks of others, and those may wait
 * themselves for the acknowledgement that only the gate brings: a backup's `FLUSH TABLES WITH READ LOCK` behind writes
 * that wait is enough.
 */
export class SemisyncLockNeeds implements LockNeeds {
  readonly purpose = say`the primary needs that lock for writes that are safe`
  readonly #parts: SemisyncLockNeedsParts

  constructor(parts: SemisyncLockNeedsParts) {
    this.#parts = parts
  }

  /**
   * A statement does not get on, or one that would is not sent because a login, or the look at the server, does not.
   */
  mayBeBlocked(): boolean {
    return this.#isPrimary() && (hasStatementThatWaits(this.#parts) || this.#isStarved())
  }

  #isPrimary(): boolean {
    const { file, process } = this.#parts
    return process.state === 'running' && leads(file.current)
  }

  /** Why writes are to be taken and cannot be, or are not known to be safe, or nobody sees whether they are. */
  needNow(): string | null {
    const { file, guards, observer } = this.#parts
    const { assignment } = file.current
    const isClosed = assignment?.role !== 'primary' || assignment.fenced || whyClosed(guards) !== null
    if (isClosed) return null
    if (this.#takesNoWrites()) return 'it takes no writes'
    const { server } = observer
    const waits = server !== null && server.semiSyncSource.enabled && server.semiSyncSource.waiting > 0
    return waits ? `writes wait after ${server.executed}` : null
  }

  #takesNoWrites(): boolean {
    const { file, observer, timings } = this.#parts
    const isOpening = leadingOf(lifeOf(this.#parts))?.step !== 'open'
    return isOpening || file.current.unsettled || observer.silentMs >= timings.frozenMs || this.#isStarved()
  }

  /** Fewer who can acknowledge are connected than a write needs. */
  #isStarved(): boolean {
    const { file, observer } = this.#parts
    const { assignment } = file.current
    if (assignment?.role !== 'primary' || observer.server === null) return false
    const counted = observer.server.dumpThreads.filter((thread) => thread.semiSync && isCounted(thread, assignment))
    return counted.length < assignment.acks
  }

  /**
   * A session may begin to wait for an acknowledgement before it is ended, and would then be told that its write is
   * safe, and those that commit with it: only a marker proves it.
   */
  async doubt(): Promise<void> {
    const revision = this.#parts.file.current.assignment?.revision ?? 0
    learn(this.#parts, { fact: 'markDoubted', revision })
    await keepUnsettled(this.#parts)
  }

  async endCommitting(overdue: readonly Blocker[]): Promise<void> {
    const committing = overdue.find((blocker) => this.#isWaitedForByReplicas(blocker))
    if (committing) await this.#restart(committing)
  }

  /** A gate is to be set for somebody, or enough others are there again who would acknowledge, and cannot log in. */
  #isWaitedForByReplicas({ behind }: Blocker): boolean {
    const { file, contact, timings, world } = this.#parts
    const { assignment } = file.current
    const since = world.clock.monotonicMs() - 2 * timings.leaseRenewMs
    const heard = [...contact.peersHeard.values()].filter((atMs) => atMs >= since).length
    return behind === 'ALTER USER' || (assignment?.role === 'primary' && heard >= assignment.acks)
  }

  /**
   * The session cannot be ended unacknowledged, and what would acknowledge its write waits behind the session. Its
   * transaction stays in the binlog: recovery commits it, and nobody reads it before it is acknowledged.
   */
  async #restart(blocker: Blocker): Promise<void> {
    const { notices, process } = this.#parts
    if (!this.#isStarved()) return
    const what = say`this server is killed and started again, closed until replicas have acknowledged`
    notices.add('RestartedForLock', say`${sentenceAbout(blocker)}, and it waits for an acknowledgement itself: ${what}`)
    learn(this.#parts, { fact: 'restartBegan' })
    await process.kill()
  }
}
