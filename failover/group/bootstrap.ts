import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import { compareVersions } from '#topology/group/versions.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { allOf } from '#common/text/words.ts'
import { ordinalOf, type InstanceName } from '#topology/snapshot/member.ts'
import { chosenLeader, forcedAdvice, planForcedBootstrap as planAnyForced } from '../flows/forced-bootstrap.ts'
import type { ForcedBootstrap } from '../flows/mode.ts'
import { agentsAreAwaited, beforeMaking, standStillInMaking, waitForServers, waitInMaking } from '../steps/making.ts'
import { restoreFirst } from '../flows/backups/restoring.ts'
import { step, type FlowStep } from '../steps/step.ts'
import { isLive, isServing, liveViews, type DecisionInput, type LiveView } from '../judge/situation.ts'
import { recordVersion, type ClusterRecord } from '../protocol/record.ts'
import { groupNameFor } from './assignments.ts'

/**
 * A cluster without a record needs one instance to form the group: the instance that holds what all others hold.
 * Nothing is believed before everybody answered.
 */
export function bootstrapStep(input: DecisionInput): FlowStep {
  const chosen = chosenLeader(input)
  if (chosen !== undefined) return forcedStep(input, chosen)
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
    return standStillInMaking(say`no instance holds everything that the others hold: ${forcedAdvice}`)
  const why = say`bootstrap: ${leader.name} forms the group${union.isEmpty() ? '' : say`, it holds all ${counted(union.count(), 'transaction')}`}`
  return commitFirst(input, leader, why)
}

/** A person chose who leads a cluster that never had a record, and gives up what only others hold. */
function forcedStep(input: DecisionInput, to: InstanceName): FlowStep {
  const plan = planForcedBootstrap(input, to)
  return 'refusal' in plan
    ? standStillInMaking(say`no forced bootstrap: ${plan.refusal}`)
    : commitFirst(input, plan.leader, say`forced: ${to} forms the group; given up: ${plan.givenUp}`)
}

function commitFirst({ cluster }: DecisionInput, leader: LiveView, why: Sentence): FlowStep {
  const { member } = leader.observation
  const next: ClusterRecord = {
    version: recordVersion,
    cluster,
    epoch: 1,
    revision: 1,
    primary: member,
    syncSet: [],
    leaving: [],
    acks: 0,
    acksWanted: 0,
    intent: null,
    group: { name: groupNameFor(cluster, member), forming: true },
  }
  return step(why, [{ kind: 'commit', next, why }])
}

function versionOf({ observation }: LiveView): string {
  return observation.server?.version ?? ''
}

/**
 * Nobody can tell of a record that is lost what its group does. Of a cluster that never had one, each instance says
 * what it holds, and is in no group.
 */
export function planForcedBootstrap(
  input: DecisionInput,
  to: InstanceName,
): ForcedBootstrap | { readonly refusal: Sentence } {
  const { instances } = input.snapshot
  const isLost = liveViews(input.snapshot).some(({ observation: { stored } }) => stored.promise > 0)
  if (isLost)
    return { refusal: say`a cluster in mode group without its record is not begun by force: bring the record back` }
  const silent = instances.filter((view) => !isServing(view, input.timings)).map(({ name }) => name)
  return silent.length > 0 ? { refusal: say`${allOf(silent)} must answer first` } : planAnyForced(input, to)
}
