import { say } from '#common/sentence/sentence.ts'
import type { OperationRequest } from '#api-contract/operations.ts'
import { modeOf } from '#failover/decide.ts'
import { hooksAt, longestOf } from '#failover/protocol/hook.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { EndedRecovery } from '#manager/loop/books/recovery-book.ts'
import { answered, patienceMs, resultOf } from './answered.ts'
import type { Asking } from './asking.ts'
import type { Plan } from './performer.ts'
import { takesAway, whyNotMeant } from './switchover-wish.ts'

/** Before something else is done to a primary: the best one takes over. */
export function handOver(
  asking: Asking,
  request: Pick<OperationRequest<'switchover'>, 'from' | 'reason' | 'dryRun'>,
): Plan {
  return switchover(asking, { ...request, to: undefined, timeoutMs: undefined })
}

export function switchover(asking: Asking, request: OperationRequest<'switchover'>): Plan {
  const situation = asking.situation()
  for (const named of [request.from, request.to]) if (named !== undefined) asking.mustExist(named)
  asking.mustBeAlone('switchover')
  const stale = whyNotMeant(situation, request)
  if (stale !== null) throw asking.refusal(say`no switchover: ${stale}`)
  const timeoutMs = request.timeoutMs ?? situation.spec.switchover.timeoutMs
  const plan = modeOf(situation.spec).planSwitchover(situation, request.to ?? null, timeoutMs)
  if ('refusal' in plan) throw asking.refusal(say`no switchover: ${plan.refusal}`)
  const { cluster } = asking
  const { random } = cluster.world
  const from = instanceOf(situation.record.primary)
  const to = instanceOf(plan.candidate)

  return {
    would: { sentence: `would switch over from ${from} to ${to}`, plan: plan.steps },
    act: async () => {
      const id = random.hex(12)
      const forHooksMs = longestOf(hooksAt(situation.spec.hooks, 'beforeSwitchover'))
      const deadlineWallMs = situation.steadyWallMs + forHooksMs + timeoutMs
      const reason = request.reason || 'asked for'
      const asked = { kind: 'switchover', id, from, to, deadlineWallMs, forHooksMs, reason } as const
      const cameFirst = (one: EndedRecovery) => takesAway(situation.record, one) && !one.requests.includes(id)
      const recovery = await answered(cluster, asked, forHooksMs + timeoutMs + patienceMs, cameFirst)
      if (recovery !== undefined && cameFirst(recovery))
        throw asking.refusal(say`no switchover: another ${recovery.kind} came first: ${recovery.sentence}`)
      return resultOf(cluster, recovery, say`switchover to ${to}`)
    },
  }
}
