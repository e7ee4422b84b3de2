import { joined, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Watch } from '#common/watch/watch.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import type { Blocker } from '../ports/server.ts'

/** How often it is looked whether something does not get on. */
export const lockLookMs = 250
/** A statement that has been under way for less waits for nobody. */
const patienceMs = 200
/** Statements have deadlines and are tried again: who was not in the way for so long is not there any more. */
const forgottenMs = 2_000
/** So many are named. */
const mostTold = 3

/** What a way of replicating needs of others who hold locks. */
export interface LockNeeds {
  /** Only then is it looked for who is in the way. */
  mayBeBlocked(): boolean
  /**
   * Why what waits must not wait any longer; null where nothing must. While the same sessions wait it stays the same,
   * and not where others follow them.
   */
  needNow(): string | null
  /** What the lock is needed for, in words. */
  readonly purpose: Sentence
  /** Before somebody is ended who might begin to commit. */
  doubt(): Promise<void>
  /** Sessions that are committing are never ended one by one; a mode may restart the server instead. */
  endCommitting(overdue: readonly Blocker[]): Promise<void>
}

type LockParts = Learner & Pick<Parts, 'changed' | 'notices' | 'server' | 'timings' | 'world'>

/**
 * What Regent must do to end a wait never waits behind a client. A session in the way is named at once, and ended after
 * a grace. A session is ended only where a primary cannot be written to otherwise, or its writes are not known to be
 * safe, or it cannot be seen: never for a backup that runs while all is well.
 */
export class LockWatch implements Watch {
  readonly name = 'locks in the way'
  readonly failure = {
    code: 'GlobalLock',
    sentence: say`sessions in the way of a statement could not be found or ended`,
  }
  readonly #parts: LockParts
  readonly #needs: LockNeeds
  readonly #seen = new Map<number, { readonly sinceMs: number; lastMs: number }>()
  /** Sessions that were committing at the last look that was answered. */
  #committing: readonly Blocker[] = []
  #need: string | null = null
  #neededSinceMs = 0

  constructor(parts: LockParts, needs: LockNeeds) {
    this.#parts = parts
    this.#needs = needs
  }

  async look(): Promise<void> {
    const blockers = this.#needs.mayBeBlocked() ? await this.#askForBlockers() : []
    this.#show(blockers)
    this.#committing = blockers.filter(({ commits }) => commits)
    if (!this.#isNeededForLong()) return
    const { world, timings } = this.#parts
    const nowMs = world.clock.monotonicMs()
    const sinceOf = ({ session }: Blocker) => this.#seen.get(session)?.sinceMs ?? nowMs
    await this.#end(blockers.filter((blocker) => nowMs - sinceOf(blocker) >= timings.lockGraceMs))
  }

  /** A server that does not say any more who is in the way may hang for another reason; who was committing still is. */
  async #askForBlockers(): Promise<readonly Blocker[]> {
    try {
      return await this.#parts.server.blockers()
    } catch (error) {
      this.#show([])
      if (this.#isNeededForLong()) await this.#needs.endCommitting(this.#committing)
      throw error
    }
  }

  #isNeededForLong(): boolean {
    const { world, timings } = this.#parts
    const [need, nowMs] = [this.#needs.needNow(), world.clock.monotonicMs()]
    if (need !== this.#need) this.#neededSinceMs = nowMs
    this.#need = need
    return need !== null && nowMs - this.#neededSinceMs >= timings.lockGraceMs
  }

  #show(blockers: readonly Blocker[]): void {
    const { guards, world, changed } = this.#parts
    this.#remember(blockers, world.clock.monotonicMs())
    const first = blockers.slice(0, mostTold).map(sentenceAbout)
    const told = joined(first, ', and ') || this.#lastTold()
    if (String(told) === String(guards.lockedBy)) return
    learn(this.#parts, { fact: 'blockersSeen', lockedBy: told })
    changed()
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
  #lastTold(): Sentence | null {
    return this.#seen.size === 0 ? null : this.#parts.guards.lockedBy
  }

  async #end(overdue: readonly Blocker[]): Promise<void> {
    const { server, notices } = this.#parts
    for (const blocker of overdue.filter(({ commits }) => !commits)) {
      if (blocker.mayCommit) await this.#needs.doubt()
      const ended = blocker.waits ? say`its statement is ended` : say`its session is ended`
      notices.add('GlobalLock', say`${sentenceAbout(blocker)}; ${this.#needs.purpose}: ${ended}`)
      await server.endBlocker(blocker)
      this.#seen.delete(blocker.session)
    }
    await this.#needs.endCommitting(overdue.filter(({ commits }) => commits))
  }
}

/** A statement of the agent's has not got on for a while. */
export function hasStatementThatWaits({ server, observer }: Pick<Parts, 'server' | 'observer'>): boolean {
  return server.oldestStatementMs() > patienceMs || observer.silentMs > 0
}

export function sentenceAbout({ session, user, host, lock, waits, seconds, behind }: Blocker): Sentence {
  const does = waits ? say`waits for` : say`holds`
  return say`session ${session} of ${user}@${host} ${does} ${lock} for ${seconds} s; ${behind} waits behind it`
}
