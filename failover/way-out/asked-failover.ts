import { command, say, type Sentence } from '#common/sentence/sentence.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import { modeOf } from '../decide.ts'
import type { Decided } from '../steps/step.ts'
import type { Action } from '../protocol/decision.ts'
import { viewNamed, type Situation } from '../judge/situation.ts'

/** What a person asks for. */
export interface AskedFailover {
  readonly to: InstanceName | null
  readonly acceptLoss: boolean
}

/** Whether an action changes nothing of who leads: such actions are decided also while no failover can begin. */
const isBeside: Readonly<Record<Action['kind'], boolean>> = {
  ...{ assign: true, route: true, renounce: true, passwords: true, expel: true, scale: true, say: true, empty: true },
  ...{ commit: false, hooks: false, promise: false, demote: false, fetch: false, reseed: false, restore: false },
}

/** Why a person's failover is refused; null where it begins. The dry run asks the same. */
export function whyNoFailover(situation: Situation, asked: AskedFailover): Sentence | null {
  const { to, acceptLoss } = asked
  const mode = modeOf(situation.spec)
  const healthy = mode.whyNothingToMend(situation)
  if (healthy !== null) return say`no failover: ${healthy}${insteadOf(situation)}`
  if (to !== null && viewNamed(situation.snapshot, to)?.past !== undefined)
    return acceptLoss
      ? null
      : say`no failover to ${to}: its volume went back in time. Only --accept-loss takes it as it is, and gives up what it may have forgotten`
  const never = to === null ? null : mode.whyNeverTo(situation, to, acceptLoss)
  if (never !== null) return say`no failover: ${never}`
  const trial = trialOf(situation, asked)
  return trial.blocked && trial.actions.every(({ kind }) => isBeside[kind]) ? trial.sentence : null
}

/** What would be decided at once. */
export function trialOf(situation: Situation, asked: AskedFailover): Decided {
  return modeOf(situation.spec).decide({ ...situation, requests: [{ kind: 'failover', id: 'trial', ...asked }] })
}

function insteadOf(situation: Situation): Sentence {
  const plan = modeOf(situation.spec).planSwitchover(situation, null)
  return 'refusal' in plan
    ? say`; nor can a switchover begin: ${plan.refusal}`
    : say`; to have another instance lead, use: ${command('switchover')}`
}
