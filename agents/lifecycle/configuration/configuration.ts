import { described, RegentError } from '#common/errors/errors.ts'
import { say, type Sentence, text } from '#common/sentence/sentence.ts'
import { parseBoundedJson } from '#common/input/bounded-json.ts'
import type { JsonSchema } from '#common/input/json-schema.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import type { Action, Probe, Task } from '../wire/definitions.ts'
import { actionSchema, probeSchema, taskSchema } from '../wire/schema.ts'
import { withoutNulls } from '../wire/without-nulls.ts'

/** The variables, of which an absent and an empty one are the same. */
export type Environment = Readonly<Record<string, string | undefined>>

/** What the agent of one pod serves. */
export interface LifecycleConfiguration {
  /** By name. Null where `KB_AGENT_ACTION` is not set: the agent then serves nothing. */
  readonly actions: ReadonlyMap<string, Action> | null
  readonly probes: readonly Probe[]
  /** Names of the actions that may be streamed. */
  readonly streaming: ReadonlySet<string>
}

/**
 * Reads what a lifecycle agent serves, by KubeBlocks' rules: without `KB_AGENT_ACTION` nothing else is read, without
 * `KB_AGENT_PROBE` (which may be `null`) no `KB_AGENT_STREAMING`. An agent with built-in actions reads on without
 * `KB_AGENT_ACTION`; its probes may name built-in actions too, and `KB_AGENT_STREAMING` those that are streams. Throws
 * `REGENT_BAD_ENVIRONMENT` with variable, item, field and what is allowed.
 */
export function readConfiguration(
  environment: Environment,
  builtIn: ReadonlyMap<string, { readonly stream?: unknown }> = new Map(),
): LifecycleConfiguration {
  if (!environment['KB_AGENT_ACTION'] && builtIn.size === 0) return { actions: null, probes: [], streaming: new Set() }
  const actions = readActions(environment)
  if (!environment['KB_AGENT_PROBE']) return { actions, probes: [], streaming: new Set() }
  const probes = readList<Probe>(environment, 'KB_AGENT_PROBE', { schema: probeSchema, noun: 'probe', key: 'action' })
  for (const { action } of probes)
    requireAction(new Set([...builtIn.keys(), ...actions.keys()]), 'KB_AGENT_PROBE', action)
  const streams = [...builtIn].flatMap(([name, { stream }]) => (stream === undefined ? [] : [name]))
  return { actions, probes, streaming: readStreaming(environment, new Set([...streams, ...actions.keys()])) }
}

/**
 * Actions by name; none where `KB_AGENT_ACTION` is not set. Throws `REGENT_BAD_ENVIRONMENT`, also where two actions
 * have one name.
 */
export function readActions(environment: Environment): ReadonlyMap<string, Action> {
  const list = readList<Action>(environment, 'KB_AGENT_ACTION', { schema: actionSchema, noun: 'action', key: 'name' })
  const actions = new Map<string, Action>()
  for (const action of list) {
    if (actions.has(action.name))
      throw bad('KB_AGENT_ACTION', say`action "${action.name}" is there twice; each name is allowed once`)
    actions.set(action.name, action)
  }
  return actions
}

/** The tasks of a worker; none where `KB_AGENT_TASK` is not set. Throws `REGENT_BAD_ENVIRONMENT`. */
export function readTasks(environment: Environment): readonly Task[] {
  return readList<Task>(environment, 'KB_AGENT_TASK', { schema: taskSchema, noun: 'task', key: 'task' })
}

function readStreaming(environment: Environment, actions: ReadonlySet<string>): ReadonlySet<string> {
  const names = (environment['KB_AGENT_STREAMING'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  for (const name of names) requireAction(actions, 'KB_AGENT_STREAMING', name)
  return new Set(names)
}

interface ListOf {
  readonly schema: JsonSchema
  readonly noun: string
  /** The field whose value names an item in a message. */
  readonly key: string
}

function readList<Item>(environment: Environment, variable: string, { schema, noun, key }: ListOf): readonly Item[] {
  const value = parse(variable, environment[variable] || 'null')
  if (value === null) return []
  if (!Array.isArray(value)) throw bad(variable, say`the top level is no list; allowed is a JSON list of ${noun}s`)
  const items = value.map(withoutNulls)
  for (const [at, item] of items.entries()) {
    const complaint = complaintAbout(schema, item)
    if (complaint !== undefined)
      throw bad(variable, say`${nameOf(item, { noun, key, at, of: items.length })}: ${complaint}`)
  }
  return items as readonly Item[]
}

function parse(variable: string, text: string): unknown {
  try {
    return parseBoundedJson(text, say`its value`)
  } catch (error) {
    throw error instanceof RegentError ? bad(variable, say`${described(error)}`, error) : error
  }
}

/** `action "roleProbe"`, or `action 2 of 5` where the name is what is wrong. */
function nameOf(item: unknown, { noun, key, at, of }: { noun: string; key: string; at: number; of: number }): string {
  const name = typeof item === 'object' && item !== null ? (item as Record<string, unknown>)[key] : undefined
  return typeof name === 'string' && name !== '' ? `${noun} "${name.slice(0, 60)}"` : `${noun} ${at + 1} of ${of}`
}

function requireAction(actions: ReadonlySet<string>, variable: string, name: string): void {
  if (actions.has(name)) return
  const known = [...actions].join(', ')
  throw bad(
    variable,
    say`"${text(name.slice(0, 60))}" is no action of ${'KB_AGENT_ACTION'}; ${known === '' ? say`there is none` : say`there are ${text(known)}`}`,
  )
}

function bad(variable: string, what: Sentence, cause?: unknown): RegentError {
  return new RegentError('REGENT_BAD_ENVIRONMENT', say`${variable}: ${what}`, { cause })
}
