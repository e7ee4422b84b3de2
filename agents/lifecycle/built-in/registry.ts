import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Action } from '../wire/definitions.ts'
import type { BuiltInAction } from './built-in-action.ts'

/** Built-in actions by name. Throws `REGENT_INTERNAL` where two have one name. */
export function registryOf(actions: readonly BuiltInAction[]): ReadonlyMap<string, BuiltInAction> {
  const registry = new Map(actions.map((action) => [action.name, action]))
  if (registry.size < actions.length)
    throw new RegentError('REGENT_INTERNAL', say`two built-in actions have the same name`)
  return registry
}

/** What can be called, and what of that is built in. */
export interface Merged {
  /** Null where there is nothing to call. */
  readonly actions: ReadonlyMap<string, Action> | null
  readonly builtIn: ReadonlyMap<string, BuiltInAction>
}

/**
 * Built-in actions beside those of `KB_AGENT_ACTION`. An action of `KB_AGENT_ACTION` takes the place of the built-in
 * action of the same name, whatever stands there: a component's script is not to be left out in silence.
 */
export function mergeBuiltIn(
  configured: ReadonlyMap<string, Action> | null,
  registry: ReadonlyMap<string, BuiltInAction>,
): Merged {
  const builtIn = new Map([...registry].filter(([name]) => configured?.has(name) !== true))
  if (configured === null && builtIn.size === 0) return { actions: null, builtIn }
  const definitions = [...builtIn.keys()].map((name): [string, Action] => [name, { name }])
  return { actions: new Map([...definitions, ...(configured ?? [])]), builtIn }
}
