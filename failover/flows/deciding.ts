import type { DecisionInput, Situation } from '../judge/situation.ts'
import { behindHooks } from './before-hooks.ts'
import { withBackups } from './backups/with-backups.ts'
import { nobodyAnswers, recordInDoubt } from './doubtful-record.ts'
import { untilADowntimeEnds } from '../judge/downtime.ts'
import { soonest, type Decided, type FlowStep } from '../steps/step.ts'

/** What a mode does of a cluster without a record, and of one whose record can be believed. */
export interface Deciding {
  bootstrap(input: DecisionInput): FlowStep
  decide(situation: Situation): Decided
}

/** What is shown, and whom a choice prefers, changes as a downtime ends: in any mode. */
export function decideBy(mode: Deciding, input: DecisionInput): Decided {
  const decision = decideNow(mode, input)
  return { ...decision, revisitMs: soonest(decision.revisitMs, untilADowntimeEnds(input.notes, input.wallMs)) }
}

/** In any mode: before a record is believed it is known that somebody answers, and that nothing speaks against it. */
function decideNow(mode: Deciding, input: DecisionInput): Decided {
  const nobody = nobodyAnswers(input)
  if (nobody !== null) return { ...nobody, condition: 'nobodyAnswers' }
  if (input.record === undefined) return { ...mode.bootstrap(input), condition: 'noRecord' }
  const situation: Situation = { ...input, record: input.record }
  const doubtful = recordInDoubt(situation)
  return doubtful === null
    ? withBackups(situation, behindHooks(situation, mode.decide(situation)))
    : { ...doubtful, condition: 'recordInDoubt' }
}
