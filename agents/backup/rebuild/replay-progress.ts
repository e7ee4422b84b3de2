import { restOf } from '#backup/restore/rate.ts'
import type { Plan } from '#backup/restore/restore-plan.ts'
import type { Clock } from '#common/ports/ports.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { counted, say, type Said } from '#common/sentence/sentence.ts'
import type { TellProgress } from '#agents/ports/server.ts'

/** Tells once a second how far a replay is, its rate, and the time that is left. */
export class ReplayProgress {
  readonly #wanted: GtidSet
  readonly #all: number
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #tell: TellProgress
  readonly #beganMs: number
  #toldMs = -Infinity

  constructor(plan: Plan, clock: Pick<Clock, 'monotonicMs'>, tell: TellProgress) {
    this.#wanted = plan.gtids.subtract(GtidSet.parse(plan.backup.gtids))
    this.#all = this.#wanted.count()
    this.#clock = clock
    this.#tell = tell
    this.#beganMs = clock.monotonicMs()
  }

  /** @param executed the set that the server has executed */
  tell(executed: GtidSet): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#toldMs < 1_000) return
    this.#toldMs = nowMs
    const done = this.#wanted.intersect(executed).count()
    this.#tell(
      say`${done} of ${counted(this.#all, 'transaction')} are replayed${this.#rate(done, nowMs)}`,
      Math.floor((done * 100) / Math.max(1, this.#all)),
    )
  }

  #rate(done: number, nowMs: number): Said {
    const ms = nowMs - this.#beganMs
    const rest = restOf({ done, all: this.#all, ms })
    return rest === '' ? '' : say`, ${Math.round((done * 1_000) / ms)} a second; ${rest}`
  }
}
