import type { GroupView } from '#topology/group/group-view.ts'
import { isOfAnotherGroup } from '#topology/group/view-id.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { FoundOf } from '../steps/acting.ts'
import { askedSwitchover } from '../flows/hand-over.ts'
import type { FlowStep } from '../steps/step.ts'
import { hasPromised, liveViews, type LiveView, type Situation } from '../judge/situation.ts'
import type { Pause } from '../protocol/notes.ts'
import type { GroupRecord, SwitchoverIntent } from '../protocol/record.ts'
import { beginSwitchover, planSwitchover } from './switchover.ts'
import { knownBy } from './view.ts'

interface OfView {
  readonly view: GroupView
}

/** The conditions of a group whose record is believed, and what is known in each. */
export interface Known {
  readonly forming: OfView
  readonly failoverAsked: OfView
  readonly splitBrain: OfView
  readonly noQuorum: OfView
  readonly outage: OfView
  readonly uncertain: OfView
  readonly noPrimary: OfView
  readonly primaryMoved: OfView & { readonly primary: string }
  readonly switchingOver: { readonly intent: SwitchoverIntent }
  readonly switchoverAsked: { readonly begun: FlowStep }
  readonly paused: OfView & { readonly paused: Pause }
  readonly promisedInVain: { readonly ahead: readonly LiveView[] }
  readonly viewUnknown: OfView & { readonly group: GroupRecord }
  readonly membersMissing: OfView
  readonly primaryWell: OfView
}

type Found = FoundOf<Known>

/** The first that is so. Whom the group calls primary comes before everything that the record wants. */
export function conditionOf(situation: Situation, view: GroupView): Found {
  const { record } = situation
  const { condition, primary } = view
  if (record.group?.forming === true) return { condition: 'forming', view }
  if (isDecided(situation, view)) return { condition: 'failoverAsked', view }
  if (condition !== 'online' && condition !== 'partial') return { condition, view }
  if (primary === null) return { condition: 'noPrimary', view }
  if (primary !== instanceOf(record.primary)) return { condition: 'primaryMoved', view, primary }
  return conditionOfStanding(situation, view)
}

/** The record names the group's primary. */
function conditionOfStanding(situation: Situation, view: GroupView): Found {
  const { record, notes } = situation
  if (record.intent?.kind === 'switchover') return { condition: 'switchingOver', intent: record.intent }
  const begun = askedSwitchover(situation, { planSwitchover, beginSwitchover })
  if (begun !== undefined) return { condition: 'switchoverAsked', begun }
  if (notes.paused !== null) return { condition: 'paused', view, paused: notes.paused }
  const ahead = promisedAhead(situation)
  if (ahead.length > 0) return { condition: 'promisedInVain', ahead }
  const group = groupToLearn(situation, view)
  if (group !== undefined) return { condition: 'viewUnknown', view, group }
  return { condition: view.condition === 'online' ? 'primaryWell' : 'membersMissing', view }
}

/**
 * A person has the group formed anew that has no primary. Where there are two groups, the person says whose writes
 * count.
 */
function isDecided({ requests }: Situation, { condition, primary }: GroupView): boolean {
  const asked = requests.find((request) => request.kind === 'failover')
  if (asked === undefined || primary !== null) return false
  return condition !== 'splitBrain' || (asked.acceptLoss && asked.to !== null)
}

/** Somebody promised a later epoch, for a group that was to be formed anew, and the group is there all the same. */
function promisedAhead({ record, snapshot }: Situation): readonly LiveView[] {
  return liveViews(snapshot).filter(({ past, observation }) => past === undefined && hasPromised(record, observation))
}

/**
 * The record is of before it noted when its group was formed, or everybody is in a group that another hand formed, or
 * in one again after two went on apart. Few members alone may be in such a group.
 */
function groupToLearn(
  { record, timings }: Situation,
  { members, viewId, condition }: GroupView,
): GroupRecord | undefined {
  const { group } = record
  if (group === undefined || viewId === '') return undefined
  if (group.parted === true && condition === 'online') return { name: group.name, forming: group.forming }
  if (group.view !== undefined && !isOfAnotherGroup(group.view, viewId)) return undefined
  const { expected } = knownBy(record, timings)
  const online = expected.filter((one) => members.get(one) === 'ONLINE').length
  return online * 2 <= expected.length ? undefined : group
}
