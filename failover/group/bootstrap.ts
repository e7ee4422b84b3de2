import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import { compareVersions } from '#topology/group/versions.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { ordinalOf } from '#topology/snapshot/member.ts'
import { agentsAreAwaited, beforeMaking, standStillInMaking, waitForServers, waitInMaking } from '../steps/making.ts'
import { restoreFirst } from '../flows/backups/restoring.ts'
import { step, type FlowStep } from '../steps/step.ts'
import { isLive, liveViews, type DecisionInput, type LiveView } from '../judge/situation.ts'
import { recordVersion, type ClusterRecord } from '../protocol/record.ts'
import { groupNameFor } from './assignments.ts'

/**
 * A cluster without a record needs one instance to form the group: the instance that holds what all others hold.
 * Nothing is believed before everybody answered.
 */
export function bootstrapStep(input: DecisionInput): FlowStep {
  const early = beforeMaking(input)
  if (early !== null) return early
  const live = liveViews(input.snapshot)
  const silent = input.snapshot.instances.filter((view) => !isLive(view))
  if (silent.length > 0) return waitInMaking(input, silent, agentsAreAwaited(silent))
  const waits = waitForServers(input, live)
  if (waits !== null) return waits
  const known = live.find(({ observation: { stored } }) => stored.promise > 0)
  if (known !== undefined)
    return standStillInMaking(
      say`the record is lost: ${known.name} promised epoch ${known.observation.stored.promise} of a cluster that was. Bring the record back`,
    )
  return restoreFirst(input, live) ?? commitLeader(input, live)
}

/** Servers without a record are closed, and in no group: the order of the looks does not matter. */
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

export function planForcedBootstrap(): { readonly refusal: Sentence } {
  return { refusal: say`a cluster in mode group without its record is not begun by force: bring the record back` }
}
