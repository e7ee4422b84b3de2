import { command, counted, say, together, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { compareVersions } from '#topology/group/versions.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { instanceOf, ordinalOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import { allOf } from '#common/text/words.ts'
import { step, type FlowStep } from '../steps/step.ts'
import type { Promised } from '../judge/election/promised.ts'
import { compareDowntime } from '../judge/downtime.ts'
import { isFenced, liveView, type Situation } from '../judge/situation.ts'
import { nextRecord } from '../protocol/record.ts'
import { groupNameFor } from './assignments.ts'
import { wasInFork } from './view.ts'

/** What a person has decided. */
export interface Choice {
  /** Silent members that are given up. */
  readonly accepted: readonly MemberId[]
  readonly acceptLoss: boolean
  /** Who is to lead; null for whoever holds everything. */
  readonly to: InstanceName | null
}

/** Who of those that promised leads, and what is lost by that. */
interface Leader {
  readonly leader: Promised
  /** Whose holdings tell what the group acknowledged. */
  readonly compared: readonly Promised[]
  /** What these hold and the leader does not. Empty unless a person named the leader and accepted loss. */
  readonly lost: readonly Lost[]
  /** What the leader lacks of those who were in a group that another hand formed. */
  readonly leftOut: readonly Lost[]
}

interface Lost {
  readonly member: MemberId
  readonly transactions: number
}

/** One of those that promised forms the group anew: the one that holds what all hold, or whom a person named. */
export function formAnew(situation: Situation, promised: readonly Promised[], choice: Choice): FlowStep {
  const { record } = situation
  const found = leaderOf(situation, promised, choice)
  if (found === undefined || record.group === undefined)
    return step(whyNobodyLeads(promised, choice), [], { blocked: true, revisitMs: 1_000 })
  const { leader, lost, compared, leftOut } = found
  const given = givenUp(lost, choice)
  const why = whyThisLeads(found, given)
  const next = nextRecord(record, {
    epoch: record.epoch + 1,
    primary: leader.member,
    // They hold nothing that the leader has not, and are all there is where the leader is lost before they joined.
    syncSet: compared
      .map(({ member }) => member)
      .filter((member) => member !== leader.member && !lost.some((one) => one.member === member)),
    leaving: [],
    intent: null,
    group: {
      name: given === '' && leftOut.length === 0 ? record.group.name : nameAfterLoss(situation, leader.member),
      forming: true,
    },
  })
  return step(why, [{ kind: 'commit', why, next }], { flow: 'failover' })
}

function whyThisLeads({ leader, lost, compared, leftOut }: Leader, given: Said): Sentence {
  const isChosen = lost.length > 0 || !compared.includes(leader)
  const whose = isChosen ? say`a person chose its` : say`it holds all`
  const ofWhom = isChosen ? '' : say` of ${allOf(compared.map(({ member }) => instanceOf(member)))}`
  const holds = say`${whose} ${counted(leader.holds.count(), 'transaction')}${ofWhom}`
  const without = given === '' ? '' : say`; given up: ${given}`
  const aside = together(leftOut.map(ofMember))
  const foreign = aside === '' ? '' : say`; left out, of a group that another hand formed: ${aside}`
  return say`${instanceOf(leader.member)} forms the group anew: ${holds}${without}${foreign}`
}

/**
 * The lowest version: no lower one could join. Then one whose data are in no doubt, one that is not fenced, and may
 * lead by its policy, one that is in no downtime, the present primary, and the lowest ordinal.
 */
function leaderOf(situation: Situation, promised: readonly Promised[], choice: Choice): Leader | undefined {
  const { to, acceptLoss } = choice
  const compared = comparedOf(situation, promised, choice)
  const named = to === null ? compared : promised.filter(({ member }) => instanceOf(member) === to)
  const union = unionOf(compared)
  const [leader] = named
    .filter((one) => (to !== null && acceptLoss) || (compared.includes(one) && one.holds.contains(union)))
    .toSorted(
      (a, b) =>
        compareVersions(versionOf(situation, a), versionOf(situation, b)) ||
        Number(isInDoubt(situation, a)) - Number(isInDoubt(situation, b)) ||
        Number(isToLeadLast(situation, a)) - Number(isToLeadLast(situation, b)) ||
        compareDowntime(situation, a.member, b.member) ||
        rank(situation, a.member) - rank(situation, b.member),
    )
  if (leader === undefined) return undefined
  const others = promised.filter((one) => !compared.includes(one))
  return { leader, compared, lost: lostBy(compared, leader.holds), leftOut: lostBy(others, leader.holds) }
}

/**
 * What was written in a group that another hand formed may have the names (GTIDs) of what this group acknowledged: who
 * was in such a group could hold the most by names, and lack all of that. So such a member is compared with nobody
 * where the primary was in no other group, which has on its disk whatever was acknowledged; or where the others hold
 * all that such a member names; or where a person accepts loss. Nobody where only a person can tell.
 */
function comparedOf(
  situation: Situation,
  promised: readonly Promised[],
  { acceptLoss }: Pick<Choice, 'acceptLoss'>,
): readonly Promised[] {
  const own = promised.filter(({ view }) => !wasInFork(view.observation.stored))
  const union = unionOf(own)
  const isEnough =
    acceptLoss ||
    own.some(({ member }) => member === situation.record.primary) ||
    promised.every(({ holds }) => union.contains(holds))
  return isEnough ? own : []
}

function lostBy(promised: readonly Promised[], kept: GtidSet): readonly Lost[] {
  return promised
    .map(({ member, holds }) => ({ member, transactions: holds.subtract(kept).count() }))
    .filter(({ transactions }) => transactions > 0)
}

function whyNobodyLeads(promised: readonly Promised[], { to }: Choice): Sentence {
  const union = unionOf(promised)
  const named = promised.find(({ member }) => instanceOf(member) === to)
  if (named !== undefined && to !== null)
    return say`${to} lacks ${counted(union.subtract(named.holds).count(), 'transaction')} that others hold: to give them up, use: ${command('failover', '--accept-loss', '--to', to)}`
  const each = promised.map((one) => {
    const others = unionOf(promised.filter((other) => other !== one))
    const alone = counted(one.holds.subtract(others).count(), 'transaction')
    return say`${instanceOf(one.member)} alone holds ${alone} and lacks ${union.subtract(one.holds).count()}`
  })
  const forks = promised
    .filter(({ view }) => wasInFork(view.observation.stored))
    .map(({ member }) => instanceOf(member))
  const reason =
    forks.length === 0
      ? say`no member holds everything that the others hold`
      : say`what ${allOf(forks)} wrote in a group that another hand formed may have the names of what this group acknowledged`
  return say`${reason}: ${together(each)}. A person decides who leads, and gives up what that one lacks: ${command('failover', '--accept-loss', '--to', '<instance>')}`
}

function unionOf(promised: readonly Promised[]): GtidSet {
  return promised.reduce((all, { holds }) => all.union(holds), GtidSet.empty)
}

/**
 * Members name their transactions by the group. What was given up would have the names of what the group does next, and
 * nobody could tell the two apart: such a group has another name.
 */
function nameAfterLoss({ cluster, record }: Situation, leader: MemberId): string {
  return groupNameFor(cluster, `${leader} ${record.epoch + 1}`)
}

function versionOf({ snapshot }: Situation, { member }: Promised): string {
  return liveView(snapshot, member)?.observation.server?.version ?? ''
}

function isInDoubt({ snapshot }: Situation, { member }: Promised): boolean {
  return liveView(snapshot, member)?.observation.stored.opened === true
}

/** A primary that is fenced is a deliberate outage. Nobody else is fenced to lead, and some are never to. */
function isToLeadLast({ notes, record, spec }: Situation, { member }: Promised): boolean {
  const name = instanceOf(member)
  return member !== record.primary && (isFenced(notes, name) || spec.policies[name]?.promotion === 'never')
}

function rank({ record }: Situation, member: MemberId): number {
  return member === record.primary ? -1 : ordinalOf(instanceOf(member))
}

/** What a person would give up by that choice, as far as it is known, in words. */
export function lossBy(promised: readonly Promised[], { accepted, to }: Choice): Sentence {
  const named = promised.find(({ member }) => instanceOf(member) === to)
  const lost = named === undefined ? [] : lostBy(promised, named.holds)
  const given = givenUp(lost, { accepted })
  return given === '' ? say`nothing that is known of would be given up` : say`${given} would be given up`
}

/** '' for nothing. */
function givenUp(lost: readonly Lost[], { accepted }: Pick<Choice, 'accepted'>): Said {
  return together([
    ...lost.map(ofMember),
    ...(accepted.length === 0 ? [] : [say`what only ${allOf(accepted.map(instanceOf))} may hold`]),
  ])
}

function ofMember({ member, transactions }: Lost): Sentence {
  return say`${counted(transactions, 'transaction')} of ${instanceOf(member)}`
}
