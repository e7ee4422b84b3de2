import { say, type Sayable, type Sentence } from '#common/sentence/sentence.ts'
import { allOf } from '#common/text/words.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { isLive, type DecisionInput } from '../situation.ts'

/** A cluster is made within minutes, also where images are pulled first. */
const makingMs = 300_000

/** Instances that do not answer, and that the place where they run is starting at this moment. */
export function startingAmong({ snapshot }: Pick<DecisionInput, 'snapshot'>): readonly InstanceName[] {
  return snapshot.instances.filter((view) => !isLive(view) && view.starting === true).map(({ name }) => name)
}

/** `shop-1 is being started by Kubernetes at this moment`. */
export function areBeingStarted(names: readonly InstanceName[]): Sentence {
  return say`${allOf(names)} ${names.length === 1 ? say`is` : say`are`} being started by Kubernetes at this moment`
}

/**
 * What helps where somebody is missed, as the end of a sentence: the missing come back, or a person does without them.
 * While some of them are being started nothing is to be given up yet.
 */
export function bringBack(input: Pick<DecisionInput, 'snapshot'>, missing: Sayable, without: Sentence): Sentence {
  const starting = startingAmong(input)
  return starting.length > 0
    ? say`bring back ${missing}: ${areBeingStarted(starting)}`
    : say`bring back ${missing}, or ${without}`
}

/** Whether the making of a cluster stands still: only once something is amiss with one of these, or it takes long. */
export function standsStillInMaking(
  { nowMs, leadsSinceMs }: Pick<DecisionInput, 'nowMs' | 'leadsSinceMs'>,
  waitedFor: readonly InstanceView[],
): boolean {
  const isAmiss = waitedFor.some(({ trouble, observation }) => trouble !== undefined || observation?.process === 'dead')
  return isAmiss || nowMs - leadsSinceMs >= makingMs
}
