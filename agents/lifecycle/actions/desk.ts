import { counted, say } from '#common/sentence/sentence.ts'
import type { Clock } from '#common/ports/ports.ts'
import { refusal, type ActionRequest, type ActionResult } from '../wire/calls.ts'
import type { Action } from '../wire/definitions.ts'
import { fingerprintOf } from './fingerprint.ts'
import type { Waiting } from './budget.ts'

export interface DeskParts {
  readonly actions: ReadonlyMap<string, Action>
  /** Why a call is not begun; undefined where nothing stands in its way. Must not reject. */
  readonly check: (action: Action, request: ActionRequest) => Promise<ActionResult | undefined>
  /** Checks too. Must not reject. */
  readonly run: (action: Action, request: ActionRequest, waiting: Waiting) => Promise<ActionResult>
  readonly clock: Clock
  /** Non-blocking runs at a time; more are refused as `busy`. */
  readonly maxRuns: number
}

/** A run that nobody waits for. */
interface Started {
  readonly fingerprint: string
  /** Undefined while the action runs. */
  result?: ActionResult
  endedAtMs?: number
}

/** A result that nobody picks up is forgotten: the caller may be gone for good. */
const keepMs = 10 * 60_000
/** Or as many as may run at a time: of what ran together nothing is forgotten before its caller asked again. */
const leastResults = 64

/**
 * Answers calls. A blocking call runs at once, whatever else runs. A non-blocking call is answered `inProgress`, and
 * later calls pick the result up, each generation of callers in its way. All of it is in memory: an agent that starts
 * anew has forgotten what ran.
 */
export class ActionDesk {
  readonly #parts: DeskParts
  /** Runs that a request made non-blocking, by name and fingerprint: a result is given once. */
  readonly #onRequest = new Map<string, Started>()
  /** The last run of an action that is non-blocking by itself, by name: a result is given as often as asked for. */
  readonly #byAction = new Map<string, Started>()

  #running = 0

  constructor(parts: DeskParts) {
    this.#parts = parts
  }

  async call(request: ActionRequest): Promise<ActionResult> {
    const action = this.#parts.actions.get(request.action)
    if (action === undefined) return refusal('notDefined', say`${request.action.slice(0, 253)} is not defined`)
    if (request.nonBlocking !== true && action.nonBlocking !== true) return this.#parts.run(action, request, 'blocking')
    // Told at once, at each call: it is no result that stays.
    const refused = await this.#parts.check(action, request)
    if (refused !== undefined) return refused
    return request.nonBlocking === true ? this.#once(action, request) : this.#cached(action, request)
  }

  /** The older generation: a failed run is retried by asking again, so that a result must not stay. */
  #once(action: Action, request: ActionRequest): ActionResult {
    this.#forgetOld()
    const key = `${action.name}\n${fingerprintOf(action, request)}`
    const started = this.#onRequest.get(key)
    if (started === undefined) return this.#begin(this.#onRequest, key, { action, request })
    if (started.result === undefined) return refusal('inProgress')
    this.#onRequest.delete(key)
    return started.result
  }

  /** The newer generation: only `rerun`, or another fingerprint, runs an action anew. */
  #cached(action: Action, request: ActionRequest): ActionResult {
    const last = this.#byAction.get(action.name)
    const isSame = last?.fingerprint === fingerprintOf(action, request) && request.rerun !== true
    if (last !== undefined && last.result === undefined) return refusal(isSame ? 'inProgress' : 'busy')
    if (last?.result !== undefined && isSame) return last.result
    return this.#begin(this.#byAction, action.name, { action, request })
  }

  #begin(
    runs: Map<string, Started>,
    key: string,
    { action, request }: { readonly action: Action; readonly request: ActionRequest },
  ): ActionResult {
    if (this.#running >= this.#parts.maxRuns)
      return refusal('busy', say`${counted(this.#running, 'non-blocking call')} run already (--max-concurrency)`)
    runs.set(key, this.#start(action, request))
    return refusal('inProgress')
  }

  #start(action: Action, request: ActionRequest): Started {
    const started: Started = { fingerprint: fingerprintOf(action, request) }
    this.#running += 1
    void this.#parts.run(action, request, 'nonBlocking').then((result) => {
      this.#running -= 1
      started.result = result
      started.endedAtMs = this.#parts.clock.monotonicMs()
    })
    return started
  }

  /** Results that wait are kept while they are among the newest, and for a limited time. */
  #forgetOld(): void {
    const nowMs = this.#parts.clock.monotonicMs()
    const most = Math.max(leastResults, this.#parts.maxRuns)
    const waiting = [...this.#onRequest]
      .filter(([, { endedAtMs }]) => endedAtMs !== undefined)
      .sort(([, a], [, b]) => (b.endedAtMs ?? 0) - (a.endedAtMs ?? 0))
    for (const [at, [key, { endedAtMs = 0 }]] of waiting.entries())
      if (at >= most || nowMs - endedAtMs > keepMs) this.#onRequest.delete(key)
  }
}
