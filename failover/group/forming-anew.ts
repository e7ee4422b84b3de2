import { command, counted, say, together, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { compareVersions } from '#topology/group/versions.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { instanceOf, ordinalOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { allOf } from '#common/text/words.ts'
import { step, type FlowStep } from '../steps/step.ts'
import type { Promised } from '../judge/election/promised.ts'
import { compareDowntime } from '../judge/downtime.ts'
import { hasDoubtedData } from '../judge/data/doubted-data.ts'
import { everybodyBut, isUncopied } from '../judge/data/doubted-members.ts'
import { isFenced, liveView, type Situation } from '../judge/situation.ts'
import { noLoss, unknownLoss, type Loss } from '../protocol/notes.ts'
import { nextRecord, type ClusterRecord, recordedMembers } from '../protocol/record.ts'
import { groupNameFor } from './assignments.ts'
import { wasInFork } from './view.ts'

/** What a person has decided. */
export interface Choice {
  /** Silent members that are given up. */
  readonly accepted: readonly MemberId[]
  readonly acceptLoss: boolean
  /** The instance that is to lead; null for the member that holds everything. */
  readonly to: InstanceName | null
}

/** The leader among the members that promised, and what is lost by that. */
interface Leader {
  readonly leader: Promised
  /** Whose holdings tell what the group acknowledged. */
  readonly compared: readonly Promised[]
  /** What these hold and the leader does not. Empty unless a person named the leader and accepted loss. */
  readonly lost: readonly Lost[]
  /** What the leader lacks of those who were in a group that another hand formed. */
  readonly leftOut: readonly Lost[]
  /** A person chose among two groups of one name, or a member of one that another hand formed. */
  readonly isOfTwo: boolean
}

const otherRows = say`one GTID may stand for two rows`

interface Lost {
  readonly member: MemberId
  readonly transactions: number
  readonly isNameless: boolean
}

/**
 * A member that promised forms the group anew: the member that holds what all hold, or the one that a person named.
 * Where that one lacks something, and no loss was accepted, nobody waits: the first leads, and that is the answer.
 */
export function formAnew(situation: Situation, promised: readonly Promised[], choice: Choice): FlowStep {
  const { record } = situation
  const found = leaderOf(situation, promised, choice) ?? leaderOfAll(situation, promised, choice)
  if (found === undefined || record.group === undefined)
    return step(whyNobodyLeads(situation, promised, choice), [], { blocked: true, revisitMs: 1_000 })
  const { leader, lost, leftOut, isOfTwo } = found
  const given = givenUp(lost, choice)
  const why = say`${insteadOf(found, promised, choice)}${whyThisLeads(found, given)}`
  const keepsName = given === '' && leftOut.length === 0 && !isOfTwo
  const next = nextRecord(record, {
    epoch: record.epoch + 1,
    primary: leader.member,
    syncSet: membersOf(found),
    leaving: [],
    intent: null,
    ...(isOfTwo ? { doubted: everybodyBut(situation, leader.member) } : {}),
    group: { name: keepsName ? record.group.name : nameAfterLoss(situation, leader.member), forming: true },
  })
  const loss = keepsName && !promised.some(isNameless) ? noLoss : lossOf(found, promised, choice)
  return step(why, [{ kind: 'commit', why, next, loss, isAnswer: true }], { flow: 'failover' })
}

/** Why the member that a person named does not lead; '' where that member does, or nobody was named. */
function insteadOf({ leader }: Leader, promised: readonly Promised[], { to }: Choice): Said {
  if (to === null || instanceOf(leader.member) === to) return ''
  const named = promised.find(({ member }) => instanceOf(member) === to)
  if (named === undefined) return say`${to} has promised nothing; `
  const lacking = leader.holds.subtract(named.holds).count()
  return lacking === 0 ? say`${to} may not lead; ` : say`${to} lacks ${counted(lacking, 'transaction')}; `
}

/**
 * A silent member may hold more, and so may a member of one of two groups that gave the same names to other rows, or
 * one that lost its names.
 */
function lossOf({ lost, leftOut, isOfTwo }: Leader, promised: readonly Promised[], { accepted }: Choice): Loss {
  if (accepted.length > 0 || isOfTwo || promised.some(isNameless)) return unknownLoss
  return {
    transactions: Math.max(0, ...[...lost, ...leftOut].map(({ transactions }) => transactions)),
    unheardSeconds: 0,
  }
}

/**
 * The members of the new group hold nothing that the leader has not, and are all there is where the leader is lost
 * before they joined. After two groups that gave the same names, no member but the leader counts before being a copy.
 */
function membersOf({ leader, compared, lost, isOfTwo }: Leader): readonly MemberId[] {
  if (isOfTwo) return []
  return compared
    .map(({ member }) => member)
    .filter((member) => member !== leader.member && !lost.some((one) => one.member === member))
}

function whyThisLeads({ leader, lost, compared, leftOut, isOfTwo }: Leader, given: Said): Sentence {
  const isChosen = lost.length > 0 || !compared.includes(leader)
  const whose = isChosen ? say`a person chose its` : say`it holds all`
  const ofWhom = isChosen ? '' : say` of ${allOf(compared.map(({ member }) => instanceOf(member)))}`
  const holds = say`${whose} ${counted(leader.holds.count(), 'transaction')}${ofWhom}`
  const without = given === '' ? '' : say`; given up: ${given}`
  const [nameless, forked] = [true, false].map((is) =>
    together(leftOut.filter((one) => one.isNameless === is).map(ofMember)),
  )
  const foreign = forked ? say`; left out, of a group that another hand formed: ${forked}` : ''
  const unnamed = nameless ? say`; left out, since its GTIDs do not tell what it holds: ${nameless}` : ''
  const name = instanceOf(leader.member)
  const alone = isOfTwo ? say`; nobody else counts before being seeded from ${name}: ${otherRows}` : ''
  return say`${name} forms the group anew: ${holds}${without}${foreign}${unnamed}${alone}`
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
  const isOfTwo = isChoiceOfTwo(situation, leader)
  return { leader, compared, lost: lostBy(compared, leader.holds), leftOut: lostBy(others, leader.holds), isOfTwo }
}

function leaderOfAll(situation: Situation, promised: readonly Promised[], choice: Choice): Leader | undefined {
  return choice.acceptLoss ? undefined : leaderOf(situation, promised, { ...choice, to: null })
}

/** What others hold by the same names may be something else than what this member holds. */
function isChoiceOfTwo({ record }: Situation, leader: Promised): boolean {
  const { observation } = leader.view
  return (
    record.group?.parted === true ||
    isOfAnother(record, leader) ||
    isNameless(leader) ||
    isStrangerInDoubt(record, observation)
  )
}

/** The record does not name it, perhaps because its data may be others than its GTIDs say. */
export function isStrangerInDoubt(
  record: ClusterRecord,
  { member, stored }: Pick<Observation, 'member' | 'stored'>,
): boolean {
  return !recordedMembers(record).includes(member) && hasDoubtedData(stored)
}

/** Another hand reset its GTIDs, or gave it some: what it holds may be more or less than it claims. */
function isNameless({ view: { observation } }: Promised): boolean {
  return observation.stored.gtidsReset === true
}

/** What it holds by the names of the group may be something else. */
function isOfAnother(record: ClusterRecord, { view: { observation } }: Promised): boolean {
  return wasInFork(observation.stored) || isUncopied(record, observation)
}

/**
 * What was written in a group that another hand formed may have the names (GTIDs) of what this group acknowledged: who
 * was in such a group could hold the most by names, and lack all of that. So such a member is compared with nobody
 * where the primary was in no other group, which has on its disk whatever was acknowledged; or where the others hold
 * all that such a member names; or where a person accepts loss. So it is with a member whose GTIDs do not tell what it
 * holds; where that was the primary, what was acknowledged may be there alone. Nobody where only a person can tell, as
 * of two groups that went on apart.
 */
function comparedOf(
  situation: Situation,
  promised: readonly Promised[],
  { acceptLoss, to }: Pick<Choice, 'acceptLoss' | 'to'>,
): readonly Promised[] {
  if (situation.record.group?.parted === true && !(acceptLoss && to !== null)) return []
  const own = promised.filter((one) => !isOfAnother(situation.record, one) && !isNameless(one))
  const union = unionOf(own)
  const isOfPrimary = ({ member }: Promised) => member === situation.record.primary
  const isEnough =
    acceptLoss ||
    own.some(isOfPrimary) ||
    (promised.every(({ holds }) => union.contains(holds)) && !promised.filter(isOfPrimary).some(isNameless))
  return isEnough ? own : []
}

function lostBy(promised: readonly Promised[], kept: GtidSet): readonly Lost[] {
  return promised
    .map((one) => ({
      member: one.member,
      transactions: one.holds.subtract(kept).count(),
      isNameless: isNameless(one),
    }))
    .filter(({ transactions }) => transactions > 0)
}

function whyNobodyLeads({ record }: Situation, promised: readonly Promised[], { to }: Choice): Sentence {
  const union = unionOf(promised)
  const isParted = record.group?.parted === true
  const named = promised.find(({ member }) => instanceOf(member) === to)
  if (named !== undefined && to !== null && !isParted) {
    const lacking = counted(union.subtract(named.holds).count(), 'transaction')
    const use = command('failover', '--accept-loss', '--to', to)
    return say`${to} lacks ${lacking} that others hold: to give them up, use: ${use}`
  }
  const each = promised.map((one) => {
    const others = unionOf(promised.filter((other) => other !== one))
    const alone = counted(one.holds.subtract(others).count(), 'transaction')
    return say`${instanceOf(one.member)} alone has ${alone}, lacks ${union.subtract(one.holds).count()}`
  })
  const reason = isParted ? say`two groups went on apart, and ${otherRows}` : whyNotCompared(promised)
  return say`${reason}: ${together(each)}. Choose who leads: ${command('failover', '--accept-loss', '--to', '<instance>')}`
}

function whyNotCompared(promised: readonly Promised[]): Sentence {
  const forks = promised
    .filter(({ view }) => wasInFork(view.observation.stored))
    .map(({ member }) => instanceOf(member))
  const nameless = promised.filter(isNameless).map(({ member }) => instanceOf(member))
  if (nameless.length > 0)
    return say`nobody can tell what ${allOf(nameless)} ${nameless.length === 1 ? say`holds, since its` : say`hold, since their`} GTIDs were changed by another hand`
  return forks.length === 0
    ? say`no member holds everything that the others hold`
    : say`what ${allOf(forks)} wrote in a group that another hand formed may have the names of what this group acknowledged`
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

/**
 * What a person would give up by that choice, as far as it is known, in words.
 * @param ofTwo whom others cannot be compared with by names; null where that can be done
 */
export function lossBy(
  promised: readonly Promised[],
  { accepted, to }: Pick<Choice, 'accepted' | 'to'>,
  ofTwo: InstanceName | null,
): Sentence {
  const named = promised.find(({ member }) => instanceOf(member) === to)
  const lost = named === undefined ? [] : lostBy(promised, named.holds)
  const given = givenUp(lost, { accepted })
  const loss = given === '' ? say`nothing that is known of would be given up` : say`${given} would be given up`
  return ofTwo === null
    ? loss
    : say`${loss}, and nobody else would count before being seeded from ${ofTwo}: ${otherRows}, and what is given up cannot be counted`
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
