import { command, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { FoundOf } from '../steps/acting.ts'
import { askedSwitchover } from '../flows/hand-over.ts'
import type { Switches } from '../flows/mode.ts'
import type { FlowStep } from '../steps/step.ts'
import { whyNothingToMend } from '../judge/primary/acknowledging.ts'
import { revocation } from '../judge/election/durability.ts'
import { isToBeStarted } from '../judge/election/elected-set.ts'
import { failoverBudget, whySpent } from '../judge/election/failover-budget.ts'
import { hasPromised, liveViews, type FailoverRequest, type Situation } from '../judge/situation.ts'
import { callsForFailover, isWell, judgePrimary, type Verdict, type VerdictKind } from '../judge/primary/verdict.ts'
import type { Condition } from '../protocol/condition.ts'
import type { Intent, SwitchoverIntent } from '../protocol/record.ts'
import { beginSwitchover, planSwitchover } from './switchover.ts'

interface Judged {
  readonly verdict: Verdict
}

/** The conditions of a cluster whose record is believed, and what is known in each. */
export interface Known extends Record<OfPrimary, Judged> {
  readonly failoverAsked: Judged & { readonly asked: FailoverRequest }
  readonly primaryToBeStarted: Judged
  readonly failoverHeld: Judged & { readonly why: Sentence }
  readonly intentLeft: { readonly why: Sentence }
  readonly switchingOver: { readonly intent: SwitchoverIntent }
  readonly promisedInVain: Judged
  readonly switchoverAsked: { readonly begun: FlowStep }
  readonly paused: Judged & { readonly reason: string }
}

const byVerdict = {
  dead: 'primaryDead',
  frozen: 'primaryFrozen',
  unable: 'primaryUnable',
  slow: 'primarySlow',
  deaf: 'primaryDeaf',
  starting: 'primaryStarting',
  agentLost: 'primaryUnsure',
  unknown: 'primaryUnsure',
  well: 'primaryWell',
} as const satisfies Record<VerdictKind, Condition>

type OfPrimary = (typeof byVerdict)[VerdictKind] | 'primaryOpening'

type Found = FoundOf<Known>

const switches: Switches = { planSwitchover, beginSwitchover }

/** The first that is so. What concerns the primary comes before everything else. */
export function conditionOf(situation: Situation): Found {
  const { intent } = situation.record
  const verdict = judgePrimary(situation)
  const asked = failoverAsked(situation)
  const isToStart = verdict.kind === 'starting' && isToBeStarted(situation)
  // A failover that loses nothing may have ended with that: asked for promises again, the primary would never start.
  if (isToStart && asked?.acceptLoss !== true) return { condition: 'primaryToBeStarted', verdict }
  if (asked !== undefined) return { condition: 'failoverAsked', verdict, asked }
  if (callsForFailover(verdict)) return conditionOfLost(situation, verdict)
  return intent ? conditionOfIntent(situation, intent) : conditionOfStanding(situation, verdict)
}

/** The primary is there, or may be, and nothing is under way. */
function conditionOfStanding(situation: Situation, verdict: Verdict): Found {
  const { paused } = situation.notes
  if (isPromisedInVain(situation, verdict)) return { condition: 'promisedInVain', verdict }
  const begun = verdict.kind === 'well' ? askedSwitchover(situation, switches) : undefined
  if (begun !== undefined) return { condition: 'switchoverAsked', begun }
  if (paused) return { condition: 'paused', verdict, reason: paused.reason }
  const isOpening = verdict.kind === 'well' && !isWell(verdict)
  return { condition: isOpening ? 'primaryOpening' : byVerdict[verdict.kind], verdict }
}

/** A person asked for a failover, and it could mend something. */
function failoverAsked(situation: Situation): FailoverRequest | undefined {
  const asked = situation.requests.find((request) => request.kind === 'failover')
  return asked !== undefined && whyNothingToMend(situation) === null ? asked : undefined
}

function conditionOfLost(situation: Situation, verdict: Verdict): Found {
  const why = whyHeldBack(situation, verdict)
  return why === null ? { condition: byVerdict[verdict.kind], verdict } : { condition: 'failoverHeld', verdict, why }
}

/**
 * Gates before an automatic failover: a person's pause or fence, the policy, the budget of automatic failovers. Each
 * says so.
 */
function whyHeldBack(situation: Situation, verdict: Verdict): Sentence | null {
  const { notes, spec, record } = situation
  if (revocation(situation, record.epoch + 1).revoked) return null
  if (notes.paused) return say`the cluster is paused (${text(notes.paused.reason)}); by hand: ${command('failover')}`
  const fence = notes.fenced.find(({ instance }) => instance === instanceOf(record.primary))
  if (fence?.keepPrimary)
    return say`${fence.instance} is fenced on purpose; ${command('unfence', fence.instance)} ends that`
  // The failover that elected it has not ended.
  if (verdict.kind === 'unable') return null
  if (!spec.failover.automatic) return say`automatic failover is off; by hand: ${command('failover')}`
  const spent = whySpent(failoverBudget(situation))
  return spent === null ? null : say`${spent}; by hand: ${command('failover')}`
}

/** While the primary is there a switchover of ours goes on, everything else is taken back before anything is done. */
function conditionOfIntent({ manager }: Situation, intent: Intent): Found {
  if (intent.by !== manager)
    return { condition: 'intentLeft', why: say`the manager that began a ${intent.kind} is gone` }
  return intent.kind === 'switchover'
    ? { condition: 'switchingOver', intent }
    : { condition: 'intentLeft', why: say`the primary is back before the fetch ended` }
}

/** Members promised the next epoch, nobody asks for more, and the primary is up for sure. */
function isPromisedInVain({ snapshot, record, inFlight }: Situation, { kind }: Verdict): boolean {
  if (kind !== 'well' && kind !== 'agentLost') return false
  const asking = [...inFlight.values()].some(({ order }) => order === 'promise' || order === 'demote')
  return !asking && liveViews(snapshot).some(({ observation }) => hasPromised(record, observation))
}
