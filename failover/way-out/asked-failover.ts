import { inPlace } from '#common/errors/commands.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import { decide, modeOf } from '../decide.ts'
import type { Action, Decision } from '../protocol/decision.ts'
import { viewNamed, type Situation } from '../judge/situation.ts'

/** What a person asks for. */
export interface AskedFailover {
  readonly to: InstanceName | null
  readonly acceptLoss: boolean
}

/** What changes nothing of who leads. */
const beside: ReadonlySet<Action['kind']> = new Set(['assign', 'route', 'renounce', 'passwords', 'expel', 'scale'])

/** Why a person's failover is refused; null where it begins. The dry run asks the same. */
export function whyNoFailover(situation: Situation, asked: AskedFailover): string | null {
  const { to, acceptLoss } = asked
  const mode = modeOf(situation.spec)
  const healthy = mode.whyNothingToMend(situation)
  if (healthy !== null) return `no failover: ${healthy}${insteadOf(situation)}`
  if (to !== null && viewNamed(situation.snapshot, to)?.past !== undefined)
    return acceptLoss
      ? null
      : `no failover to ${to}: its volume went back in time. Only --accept-loss takes it as it is, and gives up what it may have forgotten`
  const never = to === null ? null : mode.whyNeverTo(situation, to, acceptLoss)
  if (never !== null) return `no failover: ${never}`
  const trial = trialOf(situation, asked)
  return trial.blocked && trial.actions.every(({ kind }) => beside.has(kind)) ? trial.sentence : null
}

/** What would be decided at once. */
export function trialOf(situation: Situation, asked: AskedFailover): Decision {
  return decide({ ...situation, requests: [{ kind: 'failover', id: 'trial', ...asked }] })
}

function insteadOf(situation: Situation): string {
  const plan = modeOf(situation.spec).planSwitchover(situation, null)
  return 'refusal' in plan
    ? `; nor can a switchover begin: ${plan.refusal}`
    : inPlace('; to have another instance lead, use: regent switchover', situation.place)
}
