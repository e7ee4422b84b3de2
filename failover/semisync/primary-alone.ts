import { command, counted, say } from '#common/sentence/sentence.ts'
import { bringBack } from '../judge/election/starting.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { step, type FlowStep } from '../steps/step.ts'
import { nextRecord } from '../protocol/record.ts'
import { whyNotAcknowledged } from '../judge/primary/acknowledging.ts'
import { isUnsettled } from '../judge/election/durability.ts'
import { isFollowing, liveView, names, type FailoverRequest, type Situation } from '../judge/situation.ts'
import type { Verdict } from '../judge/primary/verdict.ts'
import { failoverStep } from './crash-failover.ts'
import { isSafePossible } from './failover-target.ts'

/**
 * A person asks for a failover while the primary runs and too few replicas are connected that acknowledge. Where those
 * of the sync set who answer are enough, one of them leads, and nothing is lost. Else the primary holds what nobody
 * else may hold, and is the only one that can go on: with fewer acknowledgements, if the person accepts that.
 */
export function leaveWaiting(situation: Situation, verdict: Verdict, { to, acceptLoss }: FailoverRequest): FlowStep {
  if (isSafePossible(situation) && !isUnsettled(situation)) return failoverStep(situation, verdict, to)
  const name = instanceOf(situation.record.primary)
  if (acceptLoss && (to === null || to === name)) return goOn(situation)
  const waits = say`${verdict.sentence}, and ${whyNotAcknowledged(situation) ?? say`its writes wait`}`
  const without = say`let ${name} go on without: ${command('failover', '--accept-loss')}`
  const advice = bringBack(situation, names(missingAt(situation)), without)
  const whom = to === null || to === name ? '' : say` to ${to}: it may lack what ${name} holds`
  return step(say`no failover${whom}: ${waits}; ${advice}`, [], { blocked: true, revisitMs: 1_000 })
}

/**
 * With |S| < k nothing was acknowledged, and k may fall to what needs no proof. With |S| ≥ k any smaller k keeps the
 * invariant (docs/why/safety.md, "Changing the sync set"). The number k rises again by itself with replicas that come
 * back.
 */
function goOn(situation: Situation): FlowStep {
  const { record, snapshot } = situation
  const threads = liveView(snapshot, record.primary)?.observation.server?.dumpThreads ?? []
  const able = Math.min(record.acks, threads.filter(({ semiSync }) => semiSync).length)
  const acks = record.syncSet.length < record.acks ? 0 : able
  const name = instanceOf(record.primary)
  const need = acks === 0 ? say`no acknowledgement` : counted(acks, 'acknowledgement')
  const missing = missingAt(situation)
  const back = say`${names(missing)} ${missing.length === 1 ? say`follows` : say`follow`} again`
  const why = say`${name} goes on as primary, and its writes need ${need} until ${back}: what only ${name} holds is lost with its volume`
  const next = nextRecord(record, { acks, acksWanted: acks })
  return step(why, [{ kind: 'commit', next, why, isAnswer: true }])
}

function missingAt(situation: Situation) {
  const { record, snapshot } = situation
  return record.syncSet.filter((member) => !isFollowing(liveView(snapshot, member), situation))
}
