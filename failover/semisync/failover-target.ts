import { lasting, say, type Sentence } from '#common/sentence/sentence.ts'
import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import { revocationQuorum } from '../judge/election/durability.ts'
import { whyUnfit } from '../judge/election/election.ts'
import { candidatesIn, canSalvage } from '../judge/election/salvage.ts'
import { lostByPrimary } from '../judge/data/lost-by-primary.ts'
import { asItIs, forcedCandidates } from '../judge/election/forced-candidates.ts'
import { isLive, isServing, liveView, viewNamed, type LiveView, type Situation } from '../judge/situation.ts'

/**
 * Why a failover to this instance cannot end with it as primary, as far as that is known before anybody promised; null
 * where it may. What is asked for in vain would cost the promises of the others, and there is no way back from those.
 */
export function whyNeverTo(situation: Situation, to: InstanceName, acceptLoss: boolean): Sentence | null {
  const { record } = situation
  if (acceptLoss && isTakenAsItIs(situation, to)) return null
  const view = viewNamed(situation.snapshot, to)
  const isReplaced = isLive(view) && view.observation.member !== record.primary
  if (to === instanceOf(record.primary) && !isReplaced)
    return say`${to} is the primary that is to be replaced; name another instance, or none`
  const silent = whySilent(situation, to, view)
  if (silent !== null || !isLive(view)) return silent
  const unfit = whyUnfit(situation, view.observation.member, view)
  return acceptLoss ? whyNotByForce(situation, view) : (whyNotInSyncSet(situation, view) ?? prefixed(to, unfit))
}

/** A person may take a volume that went back in time as the volume is now, the old primary's too. */
function isTakenAsItIs(situation: Situation, to: InstanceName): boolean {
  const isPrimary = to === instanceOf(situation.record.primary)
  return viewNamed(situation.snapshot, to)?.past !== undefined || (isPrimary && lostByPrimary(situation) !== null)
}

function whySilent({ timings }: Situation, to: InstanceName, view: ReturnType<typeof viewNamed>): Sentence | null {
  if (!isLive(view)) return say`the agent of ${to} is not heard`
  const { process, silentMs, stored } = view.observation
  if (view.past !== undefined) return say`the volume of ${to} went back in time`
  if (stored.seeding) return say`${to} is being seeded and holds nothing yet`
  if (process !== 'running') return say`the mysqld of ${to} is ${process}`
  return isServing(view, timings)
    ? null
    : say`the mysqld of ${to} ${silentMs > 0 ? say`has not answered ${lasting(silentMs)}` : say`has not answered yet`}`
}

/** Without an accepted loss only those lead whose promises prove that nothing acknowledged is lost. */
function whyNotInSyncSet(situation: Situation, { name, observation }: LiveView): Sentence | null {
  return candidatesIn(situation).includes(observation.member)
    ? null
    : say`${name} is not in the sync set, and may lack what was acknowledged`
}

/** While nothing needs to be lost nothing is: then only the sync set is asked. */
function whyNotByForce(situation: Situation, view: LiveView): Sentence | null {
  const { members, accepted } = forcedCandidates(situation, view.name)
  const stranger = isSafePossible(situation) ? whyNotInSyncSet(situation, view) : null
  if (stranger !== null) return say`${stranger}; without it nothing has to be given up`
  if (!members.includes(view.observation.member)) return say`the copy of ${view.name} is old, and others are there`
  return prefixed(view.name, whyUnfit(situation, view.observation.member, asItIs(view, accepted)))
}

/**
 * No loss needs to be accepted in two cases. Members of the sync set that can promise are enough, and one of them may
 * lead; or the dead primary gives what the candidate lacks.
 */
export function isSafePossible(situation: Situation): boolean {
  if (canSalvage(situation)) return true
  const { record, snapshot, timings } = situation
  const quorum = revocationQuorum(record)
  const able = record.syncSet
    .map((member) => liveView(snapshot, member))
    .filter((view) => isServing(view, timings) && !view.observation.stored.forgetful)
  const mayLead = able.some((view) => view !== undefined && whyUnfit(situation, view.observation.member, view) === null)
  return quorum !== null && able.length >= quorum && mayLead
}

function prefixed(to: InstanceName, unfit: Sentence | null): Sentence | null {
  return unfit === null ? null : say`${to} may not lead: ${unfit}`
}
