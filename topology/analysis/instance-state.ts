import { heard, lasting, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Limits } from './analysis-input.ts'
import type { Observation, ServerState } from '../snapshot/observation.ts'
import type { InstanceView } from '../snapshot/snapshot.ts'

/** An instance whose agent speaks now. */
export interface HeardView extends InstanceView {
  readonly observation: Observation
}

/** … and whose server answers. */
export interface ServingView extends HeardView {
  readonly observation: Observation & { readonly server: ServerState }
}

export function isHeard(view: InstanceView | undefined): view is HeardView {
  return view !== undefined && view.reachable && view.observation !== null
}

/** mysqld runs and answered lately, by its own agent's word. */
export function isServing(view: InstanceView | undefined, limits: Limits): view is ServingView {
  if (!isHeard(view)) return false
  const { process, server, silentMs } = view.observation
  return process === 'running' && server !== null && silentMs < limits.frozenMs
}

/**
 * The server is there and does nothing: stopped by a signal, or neither its write probe nor its admin interface
 * answers.
 */
export function isFrozen({ process, probe, silentMs }: Observation, limits: Limits): boolean {
  return process === 'stopped' || (process === 'running' && probe === 'stuck' && silentMs >= limits.frozenMs)
}

/** Clients can write to it. */
export function isWritable(view: InstanceView, limits: Limits): boolean {
  return isServing(view, limits) && !view.observation.server.readOnly && !view.observation.server.offlineMode
}

/** What keeps a server from serving, as the end of a sentence: `its mysqld is dead for 20 ms (killed by signal 9)`. */
export function describeProcess(seen: Observation): Sentence {
  const note = seen.processNote === '' ? '' : say` (${heard(seen.processNote)})`
  const since = lasting(seen.processSinceMs)
  if (seen.process === 'stopped') return say`its mysqld is stopped ${since}${note}`
  if (seen.process !== 'running') return say`its mysqld is ${seen.process} ${since}${note}`
  if (seen.server === null) return say`its mysqld runs ${since} and has not answered yet`
  return seen.silentMs < 1
    ? say`its server has not answered at its last look`
    : say`its server has not answered ${lasting(seen.silentMs)}`
}
