import { recordedMembers } from '#failover/protocol/record.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { OperationRequest } from '#api-contract/operations.ts'
import { allOf } from '#common/text/words.ts'
import { modeOf } from '#failover/decide.ts'
import { viewNamed, type Situation } from '#failover/judge/situation.ts'
import { hooksAt, longestOf } from '#failover/protocol/hook.ts'
import { trialOf, whyNoFailover, type AskedFailover } from '#failover/way-out/asked-failover.ts'
import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import { answered, patienceMs, resultOf } from './answered.ts'
import type { Asking } from './asking.ts'
import { chooseLeader } from './forced-choice.ts'
import type { Plan, Told } from './performer.ts'
import { vouchFor } from './vouching.ts'

export function failover(asking: Asking, request: OperationRequest<'failover'>): Plan {
  const { to = null, acceptLoss } = request
  if (asking.input.record === undefined && acceptLoss) return chooseLeader(asking, to)
  const situation = asking.situation()
  if (to !== null) asking.mustExist(to)
  asking.mustBeAlone('failover')
  const refused = whyNoFailover(situation, { to, acceptLoss })
  if (refused !== null) throw asking.refusal(refused)
  const past = to === null ? undefined : viewNamed(situation.snapshot, to)?.past
  if (past !== undefined) return vouchFor(asking, past)
  const { cluster } = asking
  return {
    // Only who asks for words waits for words.
    get would() {
      return foreseen(situation, { to, acceptLoss })
    },
    act: async () => {
      const asked = { kind: 'failover', id: cluster.world.random.hex(12), to, acceptLoss } as const
      const forHooksMs = longestOf(hooksAt(situation.spec.hooks, 'beforeFailover'))
      return resultOf(cluster, await answered(cluster, asked, forHooksMs + patienceMs), say`failover`)
    },
  }
}

function foreseen(situation: Situation, { to, acceptLoss }: AskedFailover): Told {
  const mode = modeOf(situation.spec)
  const [goesOn] = trialOf(situation, { to, acceptLoss }).actions.flatMap((action) =>
    action.kind === 'commit' && action.isAnswer === true ? [action.why] : [],
  )
  if (goesOn !== undefined) return { sentence: say`would not fail over: ${goesOn}`, plan: [goesOn] }
  const loss = acceptLoss ? say`; ${lossOf(situation, to)}` : ''
  return {
    sentence: say`would fail over: ${mode.judge(situation).sentence}${loss}`,
    plan: mode.stepsOfFailover(situation, to),
  }
}

function lossOf(situation: Situation, to: InstanceName | null): Sentence {
  const mode = modeOf(situation.spec)
  const known =
    mode.lossOfFailover?.(situation, to) ?? say`writes that only ${missing(situation)} hold would be given up`
  const unknown = to === null ? null : (mode.unknownOf?.(situation, to) ?? null)
  return unknown === null ? known : say`${known}; ${unknown}`
}

function missing(situation: Situation): string {
  const { record, snapshot } = situation
  const mode = modeOf(situation.spec)
  // A primary that does not take writes yet runs, and is not asked.
  const gone =
    mode.judge(situation).opening !== undefined && !mode.isSafePossible(situation) ? [instanceOf(record.primary)] : []
  const silent = recordedMembers(record)
    .map(instanceOf)
    .filter(
      (name) =>
        !snapshot.instances.some(
          (view) => view.name === name && view.reachable && view.observation?.process === 'running',
        ),
    )
  return allOf([...gone, ...silent]) || 'nobody'
}
