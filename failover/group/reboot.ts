import type { GroupView } from '../../topology/group/group-view.ts'
import { GtidSet } from '../../topology/gtid/gtid-set.ts'
import { instanceOf, ordinalOf, type InstanceName, type MemberId } from '../../topology/snapshot/member.ts'
import { allOf, counted } from '../../src/common/text/words.ts'
import { orderFor } from '../flows/assignments.ts'
import { step, type FlowStep } from '../flows/step.ts'
import { promisedBy, type Promised } from '../judge/promised.ts'
import { liveView, type Situation } from '../judge/situation.ts'
import type { Action } from '../protocol/decision.ts'
import type { ClusterRecord } from '../protocol/record.ts'
import { assignmentOrders, groupNameFor } from './assignments.ts'

/** Everybody who may hold what was acknowledged: the record never names fewer than may have been members. */
function everybody({ record }: Situation): readonly MemberId[] {
  return [record.primary, ...record.syncSet]
}

/**
 * No group takes writes. Each member that the record names promises the next epoch, so that nothing of the old group
 * can go on, and says what the member holds. One that holds what all hold forms the group anew. Instances that the
 * record does not name are not waited for. A silent member may hold what was acknowledged last: a person decides.
 */
export function rebootStep(situation: Situation, view: GroupView): FlowStep {
  const forced = situation.requests.find((request) => request.kind === 'failover')
  const { record, notes } = situation
  const next = record.epoch + 1
  const silent = silentMembers(situation)
  const accepted = forced?.acceptLoss === true ? silent : []
  if (silent.length > accepted.length) return waitForSilent(situation, view, silent)
  if (notes.paused !== null && forced === undefined)
    return step(`${view.sentence}, but the cluster is paused: ${notes.paused.reason}`, assignmentOrders(situation), {
      blocked: true,
      revisitMs: 1_000,
    })
  const asked = everybody(situation).filter((member) => !silent.includes(member))
  const promised = asked.flatMap((member) => promisedBy(situation, member, next) ?? [])
  const missing = asked.filter((member) => !promised.some((one) => one.member === member))
  if (missing.length > 0)
    return step(
      `${view.sentence}: asking ${allOf(missing.map(instanceOf))} to promise epoch ${next} and to say what they hold`,
      missing.map((member) => promiseAction(situation, member, next)),
      { flow: 'failover', blocked: true, revisitMs: 1_000 },
    )
  return formAnew(situation, promised, { accepted, to: forced?.to ?? null })
}

function silentMembers(situation: Situation): readonly MemberId[] {
  return everybody(situation).filter((member) => liveView(situation.snapshot, member) === undefined)
}

function waitForSilent(situation: Situation, view: GroupView, silent: readonly MemberId[]): FlowStep {
  const names = allOf(silent.map(instanceOf))
  const advice = `bring ${silent.length === 1 ? 'it' : 'them'} back, or give up what only ${silent.length === 1 ? 'it' : 'they'} may hold: regent failover ${situation.cluster} --accept-loss`
  return step(
    `${view.sentence}. ${names} may hold what was acknowledged last and ${silent.length === 1 ? 'does' : 'do'} not answer: ${advice}`,
    assignmentOrders(situation),
    { blocked: true, revisitMs: 1_000 },
  )
}

/** The present primary is preferred, then the lowest ordinal. */
function formAnew(
  situation: Situation,
  promised: readonly Promised[],
  { accepted, to }: { accepted: readonly MemberId[]; to: InstanceName | null },
): FlowStep {
  const { record } = situation
  const union = promised.reduce((all, { holds }) => all.union(holds), GtidSet.empty)
  const [leader] = promised
    .filter(({ holds, member }) => holds.contains(union) && (to === null || instanceOf(member) === to))
    .toSorted((a, b) => rank(situation, a.member) - rank(situation, b.member))
  if (leader === undefined || record.group === undefined) {
    const each = promised.map(({ member, holds }) => `${instanceOf(member)} lacks ${union.subtract(holds).count()}`)
    return step(
      `no member holds everything that the others hold (${each.join(', ')} transactions): a person decides whose to give up`,
      [],
      { blocked: true, revisitMs: 1_000 },
    )
  }
  const name = instanceOf(leader.member)
  const given = accepted.length === 0 ? '' : `; given up: what only ${allOf(accepted.map(instanceOf))} may hold`
  const why = `${name} forms the group anew: it holds all ${counted(union.count(), 'transaction')} of ${allOf(promised.map(({ member }) => instanceOf(member)))}${given}`
  const next: ClusterRecord = {
    ...record,
    epoch: record.epoch + 1,
    revision: record.revision + 1,
    primary: leader.member,
    // They hold nothing that the leader has not, and are all there is where the leader is lost before they joined.
    syncSet: promised.map(({ member }) => member).filter((member) => member !== leader.member),
    leaving: [],
    intent: null,
    group: { name: accepted.length === 0 ? record.group.name : nameAfterLoss(situation, leader.member), forming: true },
  }
  return step(why, [{ kind: 'commit', why, next }], { flow: 'failover' })
}

/**
 * Members name their transactions by the group. What was given up would have the names of what the group does next, and
 * nobody could tell the two apart: such a group has another name.
 */
function nameAfterLoss({ cluster, record }: Situation, leader: MemberId): string {
  return groupNameFor(cluster, `${leader} ${record.epoch + 1}`)
}

function rank({ record }: Situation, member: MemberId): number {
  return member === record.primary ? -1 : ordinalOf(instanceOf(member))
}

function promiseAction(situation: Situation, member: MemberId, epoch: number): Action {
  return {
    kind: 'promise',
    to: instanceOf(member),
    order: { ...orderFor(situation, member, epoch), after: '', waitMs: 0 },
  }
}

/** Why the group cannot be formed anew without giving anything up; null where it can. */
export function whyNoReboot(situation: Situation): string | null {
  const silent = silentMembers(situation)
  return silent.length === 0 ? null : `${allOf(silent.map(instanceOf))} does not answer`
}

export function stepsOfReboot(situation: Situation): readonly string[] {
  return [
    `each of ${allOf(everybody(situation).map(instanceOf))} leaves what is left of the group and promises epoch ${situation.record.epoch + 1}`,
    'the one that holds everything forms the group anew, the others join it, the route moves',
  ]
}
