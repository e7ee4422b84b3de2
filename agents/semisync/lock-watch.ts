import { changeLife, leadingOf, lifeOf } from '../instance/life.ts'
import { describeError } from '../../src/common/errors/errors.ts'
import { isCounted } from './acknowledgers.ts'
import { whyClosed } from '../instance/known.ts'
import type { Parts } from '../instance/parts.ts'
import type { Blocker } from '../ports/server.ts'
import { leads } from '../instance/stored-state.ts'
import { keepUnsettled } from '../doubts/unsettled.ts'

/** How often it is looked whether a statement of the agent's does not get on. */
export const lockLookMs = 250
/** A statement that has been under way for less waits for nobody. */
const patienceMs = 200
/** Statements have deadlines and are tried again: who was not in the way for so long is not there any more. */
const forgottenMs = 2_000
/** So many are named. */
const mostTold = 3

/**
 * What Regent must do to end a wait never waits behind a client. A gate's `ALTER USER`, the marker and a replica's
 * login can stand behind locks of others, and those may wait themselves for the acknowledgement that only
 * the gate brings: a backup's `FLUSH TABLES WITH READ LOCK` behind writes that wait is enough. Whoever is in the way is
 * named at once, and ended after a grace. Only where a primary cannot be written to otherwise,
 * or its writes are not known to be safe, or it cannot be seen: never for a backup that runs while all is well.
 */
export class LockWatch {
  readonly #parts: Parts
  readonly #seen = new Map<number, { readonly sinceMs: number; lastMs: number }>()
  #need: string | null = null
  #neededSinceMs = 0
  #looking = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Never rejects; one at a time. */
  async look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    await this.#look().catch((error: unknown) => {
      const why = describeError(error)
      this.#parts.notices.add('GlobalLock', `who stands in the way of a statement could not be found or ended: ${why}`)
    })
    this.#looking = false
  }

  async #look(): Promise<void> {
    const { server, world, timings, guards, changed } = this.#parts
    const blockers = this.#isPrimary() && this.#mayBeBlocked() ? await server.blockers() : []
    const nowMs = world.clock.monotonicMs()
    this.#remember(blockers, nowMs)
    const first = blockers.slice(0, mostTold).map((blocker) => sentenceAbout(blocker))
    const told = first.length === 0 ? this.#lastTold() : first.join(', and ')
    if (told !== guards.lockedBy) {
      guards.lockedBy = told
      changed()
    }
    const need = this.#needNow()
    if (need !== this.#need) this.#neededSinceMs = nowMs
    this.#need = need
    if (need === null || nowMs - this.#neededSinceMs < timings.lockGraceMs) return
    const sinceOf = ({ session }: Blocker) => this.#seen.get(session)?.sinceMs ?? nowMs
    await this.#end(blockers.filter((blocker) => nowMs - sinceOf(blocker) >= timings.lockGraceMs))
  }

  /**
   * A statement does not get on, or one that would is not sent because a login, or the look at the server, does not.
   */
  #mayBeBlocked(): boolean {
    const { server, observer } = this.#parts
    return server.oldestStatementMs() > patienceMs || observer.silentMs > 0 || this.#isStarved()
  }

  #isPrimary(): boolean {
    const { file, process } = this.#parts
    return process.state === 'running' && leads(file.current)
  }

  #remember(blockers: readonly Blocker[], nowMs: number): void {
    for (const { session } of blockers) {
      const seen = this.#seen.get(session)
      if (seen) seen.lastMs = nowMs
      else this.#seen.set(session, { sinceMs: nowMs, lastMs: nowMs })
    }
    for (const [session, { lastMs }] of this.#seen) if (nowMs - lastMs > forgottenMs) this.#seen.delete(session)
  }

  /** Between two tries of a statement nothing waits. */
  #lastTold(): string | null {
    return this.#seen.size === 0 ? null : this.#parts.guards.lockedBy
  }

  /**
   * Why writes are to be taken and cannot be, or are not known to be safe, or nobody sees whether they are; null where
   * all is well. While the same sessions wait it stays the same, and not where others follow them.
   */
  #needNow(): string | null {
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

  async #end(overdue: readonly Blocker[]): Promise<void> {
    const { server, notices } = this.#parts
    for (const blocker of overdue.filter(({ commits }) => !commits)) {
      if (blocker.mayCommit) await this.#doubt()
      const ended = `${blocker.waits ? 'its statement' : 'its session'} is ended`
      notices.add(
        'GlobalLock',
        `${sentenceAbout(blocker)}; the primary needs that lock for writes that are safe: ${ended}`,
      )
      await server.endBlocker(blocker)
      this.#seen.delete(blocker.session)
    }
    const committing = overdue.find((blocker) => blocker.commits && this.#isWaitedForByReplicas(blocker))
    if (committing) await this.#restart(committing)
  }

  /**
   * It may begin to wait for an acknowledgement before it is ended, and would then be told that it is safe, and those
   * that commit with it: only a marker proves it.
   */
  async #doubt(): Promise<void> {
    const revision = this.#parts.file.current.assignment?.revision ?? 0
    changeLife(this.#parts, { markedRevision: Math.min(lifeOf(this.#parts).markedRevision, revision - 1) })
    await keepUnsettled(this.#parts)
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
   * It cannot be ended unacknowledged, and what would acknowledge it waits behind it. Its transaction stays in the
   * binlog: recovery commits it, and nobody reads it before it is acknowledged.
   */
  async #restart(blocker: Blocker): Promise<void> {
    const { notices, told, process } = this.#parts
    if (!this.#isStarved()) return
    const what = 'this server is killed and started again, closed until replicas have acknowledged'
    notices.add('RestartedForLock', `${sentenceAbout(blocker)}, and it waits for an acknowledgement itself: ${what}`)
    told.mayRestart = true
    changeLife(this.#parts, { isRestarted: true })
    await process.kill()
  }
}

function sentenceAbout({ session, user, host, lock, waits, seconds, behind }: Blocker): string {
  const does = waits ? 'waits for' : 'holds'
  return `session ${session} of ${user}@${host} ${does} ${lock} for ${seconds} s; ${behind} waits behind it`
}
