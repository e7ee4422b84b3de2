import { say, text } from '#common/sentence/sentence.ts'
import type { World } from '#common/ports/ports.ts'
import type { BuiltInAction } from '../built-in/built-in-action.ts'
import { runBuiltIn } from '../built-in/run-built-in.ts'
import { refusal, succeeded, type ActionRequest, type ActionResult } from '../wire/calls.ts'
import type { Action, ExecAction } from '../wire/definitions.ts'
import { argvOf } from './argv.ts'
import { budgetOf, type Budget, type Waiting } from './budget.ts'
import { refusalOf } from './call-check.ts'
import { resultOfCommand } from './command-result.ts'
import type { HttpCaller } from './http-action.ts'
import type { ProcessGroups } from './process-groups.ts'
import { runGrpc } from './grpc.ts'
import { runCommand } from './run-command.ts'

export interface RunnerParts {
  readonly world: Pick<World, 'clock' | 'timers'>
  /** What every action's environment has beside the parameters of the call. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly groups: ProcessGroups
  readonly http: HttpCaller
  /** What the agent does itself, by name. */
  readonly builtIn?: ReadonlyMap<string, BuiltInAction>
  /** Bytes that one call may give, as standard output or as the body of an answer. */
  readonly outputBytes: number
  /** Aborted when the agent stops: what runs is killed. */
  readonly signal: AbortSignal
}

/** A run of an action: a call has as many runs as lists of arguments, and one run where it has no list. */
interface Run {
  readonly action: Action
  readonly request: ActionRequest
  readonly more: readonly string[]
  readonly outputBytes: number
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

  /** Runs an action to its end. Never rejects. */
  run(action: Action, request: ActionRequest, waiting: Waiting): Promise<ActionResult> {
    const running = this.#run(action, request, waiting)
    this.#running.add(running)
    return running.finally(() => this.#running.delete(running))
  }

  /** What is wrong with a call before anything runs, or stands in its way; undefined where nothing does. */
  check(action: Action, request: ActionRequest): Promise<ActionResult | undefined> {
    return refusalOf(action, request, this.#builtIn(action) !== undefined)
  }

  /** A call runs once for each list of arguments, one run after the other; the first failure ends the call. */
  async #run(action: Action, request: ActionRequest, waiting: Waiting): Promise<ActionResult> {
    const refused = await this.check(action, request)
    if (refused !== undefined) return refused
    const { world, outputBytes } = this.#parts
    const budget = budgetOf({ action, request, waiting }, world.clock)
    const lists = request.arguments ?? []
    const outputs: Buffer[] = []
    let left = outputBytes
    for (const more of lists.length === 0 ? [[]] : lists) {
      const result = await this.#attempts({ action, request, more, outputBytes: left }, budget)
      if (!result.ok) return result
      outputs.push(result.output)
      left -= result.output.length
    }
    return succeeded(Buffer.concat(outputs))
  }

  /** The attempts of one run: what went well before is not repeated for it. */
  async #attempts(run: Run, budget: Budget): Promise<ActionResult> {
    const { maxRetries, pauseMs } = patienceOf(run)
    for (let retries = 0; ; retries += 1) {
      const deadlineMs = budget.attemptMs()
      if (deadlineMs === 0) return refusal('timedOut')
      const result = await this.#once(run, deadlineMs)
      if (retries >= maxRetries || !isWorthRetrying(result)) return result
      if (!budget.hasTimeAfter(pauseMs)) return outOfTime(result)
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

  #once(run: Run, deadlineMs: number | null): Promise<ActionResult> {
    const { action, request, outputBytes } = run
    const { http, environment, signal, world } = this.#parts
    const builtIn = this.#builtIn(action)
    if (builtIn !== undefined)
      return runBuiltIn(builtIn, request.parameters ?? {}, { deadlineMs, signal, timers: world.timers })
    if (action.exec !== undefined) return this.#exec(action.exec, run, deadlineMs)
    const values = { ...environment, ...request.parameters }
    if (action.http !== undefined) return http.call(action.http, values, { deadlineMs, outputBytes, signal })
    if (action.grpc !== undefined) return runGrpc(action.grpc, values, { deadlineMs, signal })
    return Promise.resolve(refusal('badRequest', say`${action.name} is invalid`))
  }

  async #exec(exec: ExecAction, { request, more, outputBytes }: Run, deadlineMs: number | null): Promise<ActionResult> {
    const { world, environment, groups, signal } = this.#parts
    const command = { argv: argvOf(exec, more), environment: { ...environment, ...request.parameters } }
    return resultOfCommand(
      await runCommand(command, { deadlineMs, outputBytes, signal }, { groups, timers: world.timers }),
    )
  }
}

function patienceOf({ action, request }: Run): { readonly maxRetries: number; readonly pauseMs: number } {
  const { maxRetries = 0, retryInterval = 0 } = request.retryPolicy ?? action.retryPolicy ?? {}
  return { maxRetries, pauseMs: retryInterval / 1e6 }
}

type Failure = Extract<ActionResult, { ok: false }>

function isWorthRetrying(result: ActionResult): result is Failure {
  return !result.ok && (result.error === 'failed' || result.error === 'timedOut')
}

/** The end of a call whose time is over before the next attempt: what the last one failed of stays in the message. */
function outOfTime(last: Failure): ActionResult {
  return last.error === 'timedOut'
    ? last
    : refusal('timedOut', say`${text(last.message)}, and its time ends before the next try`)
}
