import type { World } from '../../../src/common/ports/ports.ts'
import type { BuiltInAction } from '../built-in/built-in-action.ts'
import { runBuiltIn } from '../built-in/run-built-in.ts'
import { refusal, succeeded, type ActionRequest, type ActionResult } from '../wire/calls.ts'
import type { Action, ExecAction } from '../wire/definitions.ts'
import { resultOfCommand } from './command-result.ts'
import type { HttpCaller } from './http-action.ts'
import type { ProcessGroups } from './process-groups.ts'
import { runGrpc } from './grpc.ts'
import { complaintAboutFiles, isReconfigure } from './reconfigure-check.ts'
import { runCommand } from './run-command.ts'
import { blockingLimitMs, nonBlockingLimitMs } from './time-limit.ts'

export interface RunnerParts {
  readonly world: Pick<World, 'clock' | 'timers'>
  /** What every action's environment has beside the parameters of the call. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly groups: ProcessGroups
  readonly http: HttpCaller
  /** What the agent does itself, by name. */
  readonly builtIn?: ReadonlyMap<string, BuiltInAction>
  /** Of one run, standard output or the body of an answer. */
  readonly outputBytes: number
  /** Aborted when the agent stops: what runs is killed. */
  readonly signal: AbortSignal
}

/** Who waits for the end: a caller with an open connection, or nobody. */
export type Waiting = 'blocking' | 'nonBlocking'

/** Time that a call has. */
interface Budget {
  /** Milliseconds for the attempt that begins now; null for no limit. */
  attemptMs(): number | null
  /** Whether any time is left after a pause. */
  hasTimeAfter(ms: number): boolean
}

/** Runs actions, each with its retries, whatever else runs at the moment. */
export class ActionRunner {
  readonly #parts: RunnerParts
  readonly #running = new Set<Promise<unknown>>()

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  /** Resolves when everything has ended that runs now. */
  async ended(): Promise<void> {
    await Promise.all(this.#running)
  }

  /**
   * Runs an action to its end. A blocking call gives each attempt a time limit of its own, a non-blocking call has one
   * for all attempts. Never rejects.
   */
  run(action: Action, request: ActionRequest, waiting: Waiting): Promise<ActionResult> {
    const running = this.#run(action, request, waiting)
    this.#running.add(running)
    return running.finally(() => this.#running.delete(running))
  }

  async #run(action: Action, request: ActionRequest, waiting: Waiting): Promise<ActionResult> {
    const unfit = complaintAbout(action, request, this.#builtIn(action) !== undefined)
    if (unfit !== undefined) return unfit
    if (isReconfigure(action.name)) {
      const complaint = await complaintAboutFiles(request.parameters ?? {})
      if (complaint !== undefined) return refusal('preconditionFailed', complaint)
    }
    return this.#attempts(action, request, this.#budgetOf(action, request, waiting))
  }

  #budgetOf(action: Action, request: ActionRequest, waiting: Waiting): Budget {
    if (waiting === 'blocking') return { attemptMs: () => blockingLimitMs(action, request), hasTimeAfter: () => true }
    const limitMs = nonBlockingLimitMs(action, request)
    if (limitMs === null) return { attemptMs: () => null, hasTimeAfter: () => true }
    const { clock } = this.#parts.world
    const endMs = clock.monotonicMs() + limitMs
    const leftMs = (): number => Math.max(0, endMs - clock.monotonicMs())
    return { attemptMs: leftMs, hasTimeAfter: (ms) => leftMs() > ms }
  }

  async #attempts(action: Action, request: ActionRequest, budget: Budget): Promise<ActionResult> {
    const { maxRetries = 0, retryInterval = 0 } = request.retryPolicy ?? action.retryPolicy ?? {}
    const pauseMs = retryInterval / 1e6
    for (let retries = 0; ; retries += 1) {
      const result = await this.#once(action, request, budget.attemptMs())
      if (retries >= maxRetries || !isWorthRetrying(result) || !budget.hasTimeAfter(pauseMs)) return result
      if (!(await this.#pause(pauseMs))) return result
    }
  }

  /** Waits between two attempts; false where the agent stops meanwhile. */
  async #pause(ms: number): Promise<boolean> {
    return this.#parts.world.timers.sleep(ms, this.#parts.signal).then(
      () => true,
      () => false,
    )
  }

  #builtIn({ name }: Action): BuiltInAction | undefined {
    return this.#parts.builtIn?.get(name)
  }

  #once(action: Action, request: ActionRequest, deadlineMs: number | null): Promise<ActionResult> {
    const { http, environment, outputBytes, signal, world } = this.#parts
    const builtIn = this.#builtIn(action)
    if (builtIn !== undefined)
      return runBuiltIn(builtIn, request.parameters ?? {}, { deadlineMs, signal, timers: world.timers })
    if (action.exec !== undefined) return this.#exec(action.exec, request, deadlineMs)
    const values = { ...environment, ...request.parameters }
    if (action.http !== undefined) return http.call(action.http, values, { deadlineMs, outputBytes, signal })
    if (action.grpc !== undefined) return runGrpc(action.grpc, values, { deadlineMs, signal })
    return Promise.resolve(refusal('badRequest', `${action.name} is invalid`))
  }

  /** One run for each list of arguments, one after the other; the first failure ends them. */
  async #exec(exec: ExecAction, request: ActionRequest, deadlineMs: number | null): Promise<ActionResult> {
    const { world, environment, groups, outputBytes, signal } = this.#parts
    const startMs = world.clock.monotonicMs()
    const outputs: Buffer[] = []
    let left = outputBytes
    for (const more of request.arguments ?? [[]]) {
      const usedMs = world.clock.monotonicMs() - startMs
      const result = resultOfCommand(
        await runCommand(
          { argv: argvOf(exec, more), environment: { ...environment, ...request.parameters } },
          { deadlineMs: deadlineMs === null ? null : Math.max(0, deadlineMs - usedMs), outputBytes: left, signal },
          { groups, timers: world.timers },
        ),
      )
      if (!result.ok) return result
      outputs.push(result.output)
      left -= result.output.length
    }
    return succeeded(Buffer.concat(outputs))
  }
}

export function argvOf({ command = [], args = [] }: ExecAction, more: readonly string[] = []): readonly string[] {
  return [...command, ...args, ...more]
}

/** What is wrong with the call before anything runs. */
function complaintAbout(action: Action, request: ActionRequest, isBuiltIn: boolean): ActionResult | undefined {
  const { exec } = action
  if (!isBuiltIn && !isWhole(action)) return refusal('badRequest', `${action.name} is invalid`)
  if (exec === undefined && request.arguments !== undefined && request.arguments.length > 0)
    return refusal('badRequest', 'runtime arguments are only supported for exec actions')
  const stray = Object.keys(request.parameters ?? {}).find((name) => !/^[^=\0]+$/.test(name))
  if (stray !== undefined)
    return refusal(
      'badRequest',
      `parameter ${JSON.stringify(stray.slice(0, 60))} cannot be a variable of an environment`,
    )
  return undefined
}

/** Whether there is something to run. */
function isWhole({ exec, http, grpc }: Action): boolean {
  return exec === undefined ? http !== undefined || grpc !== undefined : argvOf(exec).length > 0
}

function isWorthRetrying(result: ActionResult): boolean {
  return !result.ok && (result.error === 'failed' || result.error === 'timedOut')
}
