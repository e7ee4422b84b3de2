import { say, type Sentence } from '#common/sentence/sentence.ts'
import { allOf } from '#common/text/words.ts'
import type { GroupView } from '#topology/group/group-view.ts'
import { hasMajority } from '#topology/group/majority.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { endpointOf, isServing, type LiveView, type Situation } from '../judge/situation.ts'
import type { Action } from '../protocol/decision.ts'
import { orderFor } from '../steps/assignments.ts'

/** A member to be removed, in a sentence, and the order for that. */
export interface Expulsion {
  readonly sentence: Sentence
  readonly actions: readonly Action[]
}

/**
 * The member whose machine is gone, or cut off: this manager does not reach its agent, and none of those who are a
 * majority of the group without that member hears its server. The group would wait for 5 s. The primary comes first,
 * since writes wait for a new one; and one member is removed at a time, so that a majority stays. Undefined for none.
 */
export function expulsionOfSilent(situation: Situation, view: GroupView): Expulsion | undefined {
  const { snapshot, notes } = situation
  if (notes.paused !== null || view.viewId === '') return undefined
  const witnesses = snapshot.instances.filter((one): one is LiveView => isWitness(situation, one, view))
  const [first] = witnesses
  if (first === undefined || witnesses.length * 2 <= view.members.size) return undefined
  const silent = snapshot.instances
    .filter((one) => isSilent(one, view, witnesses))
    .toSorted((one, other) => Number(other.name === view.primary) - Number(one.name === view.primary))[0]
  if (silent === undefined) return undefined
  const order = { ...orderFor(situation, first.observation.member, situation.record.epoch), silent: endpointOf(silent) }
  return {
    sentence: say`${silent.name} is unreachable for this manager, and ${allOf(witnesses.map(({ name }) => name))} do not hear its server: the group removes it`,
    actions: [{ kind: 'expel', to: first.name, order }],
  }
}

function isWitness({ timings, record }: Situation, one: InstanceView, view: GroupView): boolean {
  if (!isServing(one, timings)) return false
  const { server, stored } = one.observation
  const isTold = stored.assignment?.epoch === record.epoch
  const group = server?.group
  const isOfView = group?.viewId === view.viewId && group.state === 'ONLINE'
  return isTold && isOfView && hasMajority(group)
}

function isSilent({ name, reachable }: InstanceView, { members }: GroupView, witnesses: readonly LiveView[]): boolean {
  if (reachable || !members.has(name)) return false
  return witnesses.every(({ observation }) => observation.silentMembers?.includes(name) === true)
}
