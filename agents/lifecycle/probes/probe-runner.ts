import type { Timer, World } from '#common/ports/ports.ts'
import type { ActionResult } from '../wire/calls.ts'
import type { Probe } from '../wire/definitions.ts'
import type { ProbeEvent } from '../wire/events.ts'
import { newProbe, observe, type ProbeState } from './probe-state.ts'
import { ended, nothingReported, offered, repeated, retried, taken, type ReportState } from './report-state.ts'

export interface ProbeParts {
  readonly world: Pick<World, 'clock' | 'timers'>
  /** Runs the action of the probe. Must not reject. */
  readonly run: (probe: Probe) => Promise<ActionResult>
  /** Tells what the probe found; rejects where it could not. */
  readonly report: (event: ProbeEvent) => Promise<void>
  /** Calls back after a change of these files, until the function that it gives is called. */
  readonly watch: (paths: readonly string[], changed: () => void) => () => void
  readonly log: (sentence: string) => void
}

const defaultPeriodSeconds = 60
const retryMs = 60_000

/** Runs one probe again and again, and reports what `probe-state.ts` says is worth a report. */
export class ProbeRunner {
  readonly #probe: Probe
  readonly #parts: ProbeParts
  #probed: ProbeState = newProbe
  #report: ReportState = nothingReported
  #isRunning = false
  #wantsForced = false
  #hasEnded = false
  readonly #ends: (() => void)[] = []

  constructor(probe: Probe, parts: ProbeParts) {
    this.#probe = probe
    this.#parts = parts
  }

  /** Begins after the initial delay, and at once then. */
  start(): void {
    const { timers } = this.#parts.world
    this.#keep(timers.after((this.#probe.initialDelaySeconds ?? 0) * 1_000, () => this.#begin()))
  }

  stop(): void {
    this.#hasEnded = true
    for (const end of this.#ends) end()
  }

  #begin(): void {
    const { periodSeconds = 0, reportPeriodSeconds = 0, reportOnFileChange = [] } = this.#probe
    const { timers } = this.#parts.world
    const seconds = periodSeconds > 0 ? periodSeconds : defaultPeriodSeconds
    this.#keep(timers.every(seconds * 1_000, () => this.#run(false)))
    this.#keep(timers.every(retryMs, () => this.#tell(retried(this.#report))))
    if (reportPeriodSeconds > 0) {
      const reportMs = Math.max(reportPeriodSeconds, seconds) * 1_000
      this.#keep(timers.every(reportMs, () => this.#tell(repeated(this.#report))))
    }
    if (reportOnFileChange.length > 0) this.#ends.push(this.#parts.watch(reportOnFileChange, () => this.#run(true)))
    this.#run(false)
  }

  #keep(timer: Timer): void {
    this.#ends.push(() => timer.cancel())
  }

  /** Runs follow one another. A run that is due meanwhile is dropped; a forced run comes after the one under way. */
  #run(isForced: boolean): void {
    if (this.#hasEnded) return
    if (this.#isRunning) {
      this.#wantsForced ||= isForced
      return
    }
    this.#isRunning = true
    void this.#parts.run(this.#probe).then((result) => this.#ran(result, isForced))
  }

  #ran(result: ActionResult, isForced: boolean): void {
    this.#isRunning = false
    if (this.#hasEnded) return
    const { state, event } = observe(this.#probe, this.#probed, result, isForced)
    this.#probed = state
    if (event !== undefined) this.#tell(offered(this.#report, event, this.#parts.world.clock.monotonicMs(), isForced))
    if (!this.#wantsForced) return
    this.#wantsForced = false
    this.#run(true)
  }

  #tell(report: ReportState): void {
    this.#report = report
    const next = this.#hasEnded ? undefined : taken(report, this.#parts.world.clock.monotonicMs())
    if (next === undefined) return
    this.#report = next.state
    void this.#parts.report(next.event).then(
      () => this.#told(next.event, undefined),
      (error: unknown) => this.#told(next.event, error),
    )
  }

  #told({ probe, code }: ProbeEvent, error: unknown): void {
    if (error !== undefined && !this.#hasEnded)
      this.#parts.log(
        `${probe}: the Event with code ${code} could not be sent, and is sent again in ${retryMs / 1_000} ` +
          `s: ${error instanceof Error ? error.message : 'unknown'}`,
      )
    this.#tell(ended(this.#report, error !== undefined))
  }
}
