import type { Clock } from '#common/ports/ports.ts'
import type { RunStep } from '#failover/protocol/word.ts'

const kept = 200
/** How far a run is, is kept no more often. */
const progressMs = 10_000

type Step = Omit<RunStep, 'agoMs'> & { readonly stage: string }

/**
 * What backups and rehearsals of this run of the agent said: each stage, how far they were now and then, and their end.
 */
export class RunLog {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #list: (Step & { readonly atMs: number })[] = []

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** The oldest first. */
  get list(): readonly RunStep[] {
    const nowMs = this.#clock.monotonicMs()
    return this.#list.map(({ atMs, kind, name, sentence }) => ({
      ...{ agoMs: Math.round(nowMs - atMs), kind },
      ...{ name, sentence },
    }))
  }

  add(step: Step): void {
    const atMs = this.#clock.monotonicMs()
    const before = this.#list.findLast(({ kind, name }) => kind === step.kind && name === step.name)
    if (before?.stage === step.stage && atMs - before.atMs < progressMs) return
    this.#list.push({ ...step, atMs })
    if (this.#list.length > kept) this.#list.shift()
  }
}
