import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { compareVersions } from '#topology/group/versions.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { ordinalOf } from '#topology/snapshot/member.ts'
import { standStillInMaking, waitInMaking } from '../flows/making.ts'
import { step, type FlowStep } from '../flows/step.ts'
import { isLive, isServing, liveViews, wantedInstances, type DecisionInput, type LiveView } from '../judge/situation.ts'
import { recordVersion, type ClusterRecord } from '../protocol/record.ts'
import { groupNameFor } from './assignments.ts'

/**
 * A cluster without a record. One instance is to form the group: the one that holds what all others hold. Nothing is
 * believed before everybody answered.
 */
export function bootstrapStep(input: DecisionInput): FlowStep {
  if (input.notes.paused) return step(say`no action: paused before the first primary was chosen`)
  const wanted = wantedInstances(input)
  const { instances } = input.snapshot
  if (instances.length < wanted)
    return step(say`waiting for ${counted(wanted, 'instance')} to exist`, [{ kind: 'scale', count: wanted }])
  const live = liveViews(input.snapshot)
  const silent = instances.filter((view) => !isLive(view))
  if (silent.length > 0)
    return waitInMaking(input, silent, say`waiting for the agents of ${namesOf(silent)} before anything is believed`)
  const starting = live.filter((view) => !isServing(view, input.timings))
  if (starting.length > 0) return waitInMaking(input, starting, say`waiting for mysqld of ${namesOf(starting)}`)
  const known = live.find(({ observation: { stored } }) => stored.promise > 0)
  if (known !== undefined)
    return standStillInMaking(
      say`the record is lost: ${known.name} promised epoch ${known.observation.stored.promise} of a cluster that was. Bring the record back`,
    )
  return commitLeader(input, live)
}

function commitLeader(input: DecisionInput, live: readonly LiveView[]): FlowStep {
  const union = live.reduce((all, { observation }) => all.union(holdsOf(observation)), GtidSet.empty)
  const [leader] = live
    .filter(({ observation }) => holdsOf(observation).contains(union))
    // A lower version does not join a higher group.
    .toSorted((a, b) => compareVersions(versionOf(a), versionOf(b)) || ordinalOf(a.name) - ordinalOf(b.name))
  if (leader === undefined)
    return standStillInMaking(say`no instance holds everything that the others hold: a person decides`)
  const why = say`bootstrap: ${leader.name} forms the group${union.isEmpty() ? '' : say`, it holds all ${counted(union.count(), 'transaction')}`}`
  const { member } = leader.observation
  const next: ClusterRecord = {
    version: recordVersion,
    cluster: input.cluster,
    epoch: 1,
    revision: 1,
    primary: member,
    syncSet: [],
    leaving: [],
    acks: 0,
    acksWanted: 0,
    intent: null,
    group: { name: groupNameFor(input.cluster, member), forming: true },
  }
  return step(why, [{ kind: 'commit', next, why }])
}

function versionOf({ observation }: LiveView): string {
  return observation.server?.version ?? ''
}

const namesOf = (views: readonly InstanceView[]) => views.map(({ name }) => name).join(', ')

export function planForcedBootstrap(): { readonly refusal: Sentence } {
  return { refusal: say`a cluster in mode group without its record is not begun by force: bring the record back` }
}
