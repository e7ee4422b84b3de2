import { command, counted, say, together, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { compareVersions } from '#topology/group/versions.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { instanceOf, ordinalOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import { allOf } from '#common/text/words.ts'
import { step, type FlowStep } from '../steps/step.ts'
import type { Promised } from '../judge/election/promised.ts'
import { liveView, type Situation } from '../judge/situation.ts'
import { nextRecord } from '../protocol/record.ts'
import { groupNameFor } from './assignments.ts'

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
  /** What others who answer hold and the leader does not. Empty unless a person named the leader and accepted loss. */
  readonly lost: readonly Lost[]
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
  const { leader, lost } = found
  const given = givenUp(lost, choice)
  const whose = lost.length === 0 ? say`it holds all` : say`a person chose its`
  const holds = say`${whose} ${counted(leader.holds.count(), 'transaction')}`
  const ofWhom = lost.length === 0 ? say` of ${allOf(promised.map(({ member }) => instanceOf(member)))}` : ''
  const why = say`${instanceOf(leader.member)} forms the group anew: ${holds}${ofWhom}${given === '' ? '' : say`; given up: ${given}`}`
  const next = nextRecord(record, {
    epoch: record.epoch + 1,
    primary: leader.member,
    // They hold nothing that the leader has not, and are all there is where the leader is lost before they joined.
    syncSet: promised
      .map(({ member }) => member)
      .filter((member) => member !== leader.member && !lost.some((one) => one.member === member)),
    leaving: [],
    intent: null,
    group: { name: given === '' ? record.group.name : nameAfterLoss(situation, leader.member), forming: true },
  })
  return step(why, [{ kind: 'commit', why, next }], { flow: 'failover' })
}

/**
 * The lowest version: no lower one could join. Then one whose data are in no doubt, the present primary, and the lowest
 * ordinal.
 */
function leaderOf(situation: Situation, promised: readonly Promised[], choice: Choice): Leader | undefined {
  const { to, acceptLoss } = choice
  const named = to === null ? promised : promised.filter(({ member }) => instanceOf(member) === to)
  const union = unionOf(promised)
  const [leader] = named
    .filter(({ holds }) => (to !== null && acceptLoss) || holds.contains(union))
    .toSorted(
      (a, b) =>
        compareVersions(versionOf(situation, a), versionOf(situation, b)) ||
        Number(isInDoubt(situation, a)) - Number(isInDoubt(situation, b)) ||
        rank(situation, a.member) - rank(situation, b.member),
    )
  return leader && { leader, lost: lostBy(promised, leader.holds) }
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
  return say`no member holds everything that the others hold: ${together(each)}. A person decides who leads, and gives up what that one lacks: ${command('failover', '--accept-loss', '--to', '<instance>')}`
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
    ...lost.map(({ member, transactions }) => say`${counted(transactions, 'transaction')} of ${instanceOf(member)}`),
    ...(accepted.length === 0 ? [] : [say`what only ${allOf(accepted.map(instanceOf))} may hold`]),
  ])
}
