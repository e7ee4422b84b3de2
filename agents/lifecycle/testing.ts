import { createLogger, type Logger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { Timers, World } from '#common/ports/ports.ts'
import { ActionDesk } from './actions/desk.ts'
import { HttpCaller } from './actions/http-action.ts'
import { Pipes } from './actions/pipes.ts'
import { ProcessGroups } from './actions/process-groups.ts'
import { ActionRunner } from './actions/runner.ts'
import type { BuiltInAction } from './built-in/built-in-action.ts'
import type { ActionResult } from './wire/calls.ts'
import type { Action } from './wire/definitions.ts'

export interface TestingParts {
  readonly world?: World
  readonly environment?: Readonly<Record<string, string>>
  readonly outputBytes?: number
  readonly builtIn?: ReadonlyMap<string, BuiltInAction>
}

/** For all tests of a process: pipes are used again. */
export const testingPipes = Pipes.open()

/** A runner and a desk over these actions, with real processes. */
export function testingActions(actions: readonly Action[], parts: TestingParts = {}) {
  const {
    world = realWorld,
    environment = { PATH: process.env['PATH'] ?? '' },
    outputBytes = 1_000_000,
    builtIn = new Map(),
  } = parts
  const kill = new AbortController()
  const groups = new ProcessGroups(testingPipes)
  const http = new HttpCaller()
  const runner = new ActionRunner({ world, environment, groups, http, builtIn, outputBytes, signal: kill.signal })
  const desk = new ActionDesk({
    actions: new Map(actions.map((action) => [action.name, action])),
    clock: world.clock,
    maxRuns: 1_000,
    check: (...call) => runner.check(...call),
    run: (...call) => runner.run(...call),
  })
  return { desk, runner, groups, http, kill: () => kill.abort(new Error('stopped')) }
}

/** The real world, whose deadlines count only from when this is so: a busy machine may begin a command late. */
export function deadlinesOnce(isSo: () => boolean): World {
  const { timers } = realWorld
  const after: Timers['after'] = (ms, task) => {
    let timer = timers.every(10, () => {
      if (!isSo()) return
      timer.cancel()
      timer = timers.after(ms, task)
    })
    return { cancel: () => timer.cancel() }
  }
  return { ...realWorld, timers: { ...timers, after } }
}

/** A world in which no time passes: no deadline comes. All that were set are in `deadlines`. */
export function timelessWorld(): World & { readonly deadlines: readonly number[] } {
  const { clock, timers } = realWorld
  const deadlines: number[] = []
  const after: Timers['after'] = (ms) => (deadlines.push(ms), { cancel: () => undefined })
  return { ...realWorld, deadlines, clock: { ...clock, monotonicMs: () => 0 }, timers: { ...timers, after } }
}

/** An action that is a bash script. */
export function bash(name: string, script: string, more: Partial<Action> = {}): Action {
  return { name, exec: { command: ['bash', '-c', script] }, ...more }
}

/** Output as text, or the message of the failure. */
export function saidBy(result: ActionResult): string {
  return result.ok ? result.output.toString() : result.message
}

export function silentLog(): Logger {
  return createLogger({ level: 'silent', name: 'test' })
}
