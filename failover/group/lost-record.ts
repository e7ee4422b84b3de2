import { command, say, type Sentence } from '#common/sentence/sentence.ts'
import { allOf } from '#common/text/words.ts'
import { groupSeenBy, groupView, type GroupCondition, type GroupView } from '#topology/group/group-view.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { forcedAdvice } from '../flows/forced-bootstrap.ts'
import { lastLeader, rebuildStep, unknownEpochs, unknownRevisions, whyLeaderIsLost } from '../flows/lost-record.ts'
import { isLive, liveViews, viewNamed, type DecisionInput, type LiveView } from '../judge/situation.ts'
import { recordVersion, type ClusterRecord, type GroupRecord } from '../protocol/record.ts'
import { groupNameFor } from './assignments.ts'

/** What the record is to be again. */
export interface Rebuilt {
  readonly next: ClusterRecord
  /** Whom the record names primary, and why. */
  readonly leads: Sentence
  /** A group has that primary at this moment. Else a group is to be formed anew. */
  readonly goesOn: boolean
}

interface Refused {
  readonly refusal: Sentence
}

/**
 * A record that is lost is rebuilt from what the group shows and what the instances stored. The group is the authority
 * on its primary and its members. Where no group has a primary, the record names the primary before and everybody who
 * may have been a member: the rules of any outage apply from then on.
 * @param to whom a person chose to lead; null where nobody did
 */
export function rebuiltRecord(input: DecisionInput, to: InstanceName | null): Rebuilt | Refused {
  const groups = groupsOf(input)
  const led = groups.filter(({ primary }) => primary !== null)
  if (led.length > 0) return ofLedGroup(input, led, to)
  // A majority elects in a moment, or has a stranger as primary; of two groups a person chooses one.
  const stands = groups.find(({ condition }) => haveMajority.has(condition))
  return stands === undefined || to !== null ? ofNoGroup(input, groups, to) : { refusal: stands.sentence }
}

const haveMajority: ReadonlySet<GroupCondition> = new Set(['online', 'partial', 'splitBrain'])

interface NamedGroup extends GroupView {
  readonly name: string
}

/** Each group of which a server says that it is a member: where a loss was accepted there was a group before. */
function groupsOf({ snapshot, timings: { frozenMs } }: DecisionInput): readonly NamedGroup[] {
  const last = lastLeader(liveViews(snapshot))
  const names = snapshot.instances.map((view) => view.name)
  const expected = last === undefined ? names : [last, ...names.filter((name) => name !== last)]
  const seen = new Set(snapshot.instances.flatMap((view) => groupSeenBy(view, frozenMs)?.name ?? []))
  seen.delete('')
  return [...seen].map((name) => ({ name, ...groupView(snapshot, { name, expected, frozenMs }) }))
}

function ofLedGroup(input: DecisionInput, led: readonly NamedGroup[], to: InstanceName | null): Rebuilt | Refused {
  const primaries = led.flatMap(({ primary }) => primary ?? [])
  if (to === null && primaries.length > 1)
    return { refusal: say`${allOf(primaries)} are primaries of two groups: ${forcedAdvice}` }
  const group = to === null ? led[0] : led.find(({ primary }) => primary === to)
  const leader = viewNamed(input.snapshot, group?.primary ?? '')
  if (group === undefined || !isLive(leader)) return { refusal: ledByOther(primaries) }
  const { name, members, viewId } = group
  const others = input.snapshot.instances.filter((view) => view !== leader && members.has(view.name))
  const next = recordOf(input, leader, { others, group: { name, forming: false, view: viewId } })
  return { next, leads: say`${leader.name} is primary of the group`, goesOn: true }
}

function ledByOther(primaries: readonly InstanceName[]): Sentence {
  const [first = ''] = primaries
  const use = command('failover', '--accept-loss', '--to', first)
  return primaries.length === 1
    ? say`${first} is primary of a group that goes on. Name that one: ${use}`
    : say`${allOf(primaries)} are primaries of two groups. Name one of them: ${use}`
}

function ofNoGroup(input: DecisionInput, groups: readonly NamedGroup[], to: InstanceName | null): Rebuilt | Refused {
  const { snapshot } = input
  const last = lastLeader(liveViews(snapshot))
  const leader = viewNamed(snapshot, to ?? last ?? '')
  if (!isLive(leader)) {
    const why = last === undefined ? say`no instance knows who led` : say`${last} led, and is no instance now`
    return { refusal: say`${why}: ${forcedAdvice}` }
  }
  if (to === null && leader.observation.stored.assignment === null) return { refusal: whyLeaderIsLost(leader.name) }
  const group = { name: nameFor(input, leader, groups), forming: false }
  const others = snapshot.instances.filter((view) => view !== leader && mayBeMember(view))
  const leads = to === null ? say`${leader.name} was the primary` : say`a person chose ${leader.name}`
  return { next: recordOf(input, leader, { others, group }), leads, goesOn: false }
}

/** The name that the group had, where a server tells. */
function nameFor({ cluster }: DecisionInput, { observation }: LiveView, [seen]: readonly NamedGroup[]): string {
  const own = observation.server?.group?.name ?? ''
  return own || (seen?.name ?? groupNameFor(cluster, `${observation.member} without a record`))
}

/** The instance was told what to be, and holds what it did then. */
function mayBeMember({ past, observation }: InstanceView): boolean {
  const stored = observation?.stored
  return past === undefined && stored?.seeding === false && stored.assignment !== null
}

/**
 * The epoch is far above all that was stored: an order of the lost record may be on its way that no agent has stored
 * yet, and is older then.
 */
function recordOf(
  { cluster, snapshot: { instances } }: DecisionInput,
  leader: LiveView,
  { others, group }: { readonly others: readonly InstanceView[]; readonly group: GroupRecord },
): ClusterRecord {
  const stored = instances.flatMap(({ observation }) => observation?.stored ?? [])
  const epochs = stored.map(({ promise, assignment }) => Math.max(promise, assignment?.epoch ?? 0))
  const revisions = stored.map(({ revision }) => revision)
  return {
    version: recordVersion,
    cluster,
    epoch: nextMultiple(Math.max(0, ...epochs), unknownEpochs),
    revision: nextMultiple(Math.max(0, ...revisions), instances.every(isLive) ? rebuildStep : unknownRevisions),
    primary: leader.observation.member,
    syncSet: others.flatMap(({ observation }) => observation?.member ?? []),
    leaving: [],
    acks: 0,
    acksWanted: 0,
    intent: null,
    group,
  }
}

function nextMultiple(of: number, pace: number): number {
  return (Math.floor(of / pace) + 1) * pace
}
