import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import type { Situation } from '#failover/judge/situation.ts'
import { whomItHurtsLeast, type Chosen } from './backing-up.ts'

export type RehearsalPlan = Chosen | { readonly refusal: Sentence }

/**
 * The instance where a restore is rehearsed: as for a backup, the replica that hurts least, since a rehearsal costs its
 * disk and its processor. The primary is chosen only where no replica can rehearse, or where a person asks for the
 * primary.
 */
export function planRehearsal(situation: Situation, asked?: InstanceName): RehearsalPlan {
  const chosen = whomItHurtsLeast(situation, asked)
  return 'view' in chosen ? chosen : { refusal: say`no instance can rehearse a restore now: ${chosen.passedOver}` }
}

/** The rehearsal that goes on, and where. */
export function rehearsalUnderWay(
  views: readonly InstanceView[],
): { readonly instance: InstanceName; readonly name: string } | undefined {
  return views.flatMap(({ name: instance, observation }) => {
    const { stage, name = '' } = observation?.rehearsal ?? {}
    return stage === 'restores' || stage === 'checks' ? [{ instance, name }] : []
  })[0]
}
