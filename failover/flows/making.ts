import type { Sentence } from '#common/sentence/sentence.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { liveViews, type DecisionInput } from '../judge/situation.ts'
import { standsStillInMaking } from '../judge/starting.ts'
import { step, type FlowStep } from './step.ts'

/**
 * A person who makes a cluster is told nothing is wrong while nothing is. A lost record makes no cluster anew: somebody
 * who promised before is waited for as for nobody else.
 */
export function waitInMaking(input: DecisionInput, waitedFor: readonly InstanceView[], sentence: Sentence): FlowStep {
  const isLost = liveViews(input.snapshot).some(({ observation: { stored } }) => stored.promise > 0)
  return step(sentence, [], { blocked: isLost || standsStillInMaking(input, waitedFor), revisitMs: 500 })
}

/** Before the first primary is chosen. */
export function standStillInMaking(sentence: Sentence): FlowStep {
  return step(sentence, [], { blocked: true, revisitMs: 500 })
}
