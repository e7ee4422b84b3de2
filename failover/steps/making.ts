import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { isRecordLost, isServing, wantedInstances, type DecisionInput, type LiveView } from '../judge/situation.ts'
import { standsStillInMaking } from '../judge/election/starting.ts'
import { step, type FlowStep } from './step.ts'

/**
 * A person who makes a cluster is told nothing is wrong while nothing is. A lost record makes no cluster anew: somebody
 * who promised before is waited for as for nobody else.
 */
export function waitInMaking(input: DecisionInput, waitedFor: readonly InstanceView[], sentence: Sentence): FlowStep {
  const blocked = isRecordLost(input) || standsStillInMaking(input, waitedFor)
  return step(sentence, [], { blocked, revisitMs: 500 })
}

/** Before the first primary is chosen. */
export function standStillInMaking(sentence: Sentence): FlowStep {
  return step(sentence, [], { blocked: true, revisitMs: 500 })
}

/** Nothing begins while a person has paused the cluster, or instances are still to be made; null where it may. */
export function beforeMaking(input: DecisionInput): FlowStep | null {
  if (input.notes.paused) return step(say`no action: paused before the first primary was chosen`)
  const wanted = wantedInstances(input)
  if (input.snapshot.instances.length >= wanted) return null
  return step(say`waiting for ${counted(wanted, 'instance')} to exist`, [{ kind: 'scale', count: wanted }])
}

/** Null where each server answers. */
export function waitForServers(input: DecisionInput, live: readonly LiveView[]): FlowStep | null {
  const starting = live.filter((view) => !isServing(view, input.timings))
  if (starting.length === 0) return null
  return waitInMaking(input, starting, say`waiting for mysqld of ${starting.map(({ name }) => name).join(', ')}`)
}

export function agentsAreAwaited(silent: readonly InstanceView[]): Sentence {
  return say`waiting for the agents of ${silent.map(({ name }) => name).join(', ')} before anything is believed`
}
