import type { InstanceName } from '#topology/snapshot/member.ts'
import type { Situation } from '../situation.ts'

/** What an instance holds may change while it is told to give it up: so often that is no reason to say so. */
const patience = 5
/** An agent that refuses for the same reason again and again is not asked twice a second. */
export const refusedAgainMs = 10_000

/** Its agent has refused to be seeded so often, for the same reason, that only a person may know what helps. */
export function keepsRefusing({ refused }: Pick<Situation, 'refused'>, instance: InstanceName): boolean {
  return (refused.get(instance)?.times ?? 0) >= patience
}

/** Milliseconds until one that keeps refusing is asked again; 0 for now. */
export function restAfterRefusal(situation: Pick<Situation, 'nowMs' | 'refused'>, instance: InstanceName): number {
  const refusal = situation.refused.get(instance)
  if (refusal === undefined || !keepsRefusing(situation, instance)) return 0
  return Math.max(0, refusal.atMs + refusedAgainMs - situation.nowMs)
}
