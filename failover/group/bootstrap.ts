import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import { compareVersions } from '#topology/group/versions.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { allOf } from '#common/text/words.ts'
import { ordinalOf, type InstanceName } from '#topology/snapshot/member.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { chosenLeader, forcedAdvice, planForcedBootstrap as planAnyForced } from '../flows/forced-bootstrap.ts'
import { standBehindPast, waitForSilent } from '../flows/lost-record.ts'
import type { ForcedBootstrap } from '../flows/mode.ts'
import { agentsAreAwaited, beforeMaking, standStillInMaking, waitForServers, waitInMaking } from '../steps/making.ts'
import { restoreFirst } from '../flows/backups/restoring.ts'
import { step, type FlowStep } from '../steps/step.ts'
import { isLive, isRecordLost, isServing, liveViews, type DecisionInput, type LiveView } from '../judge/situation.ts'
import { recordVersion, type ClusterRecord } from '../protocol/record.ts'
import { groupNameFor } from './assignments.ts'
import { rebuiltRecord, type Rebuilt } from './lost-record.ts'

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
  if (isRecordLost(input)) return rebuild(input, silent)
  if (silent.length > 0) return waitInMaking(input, silent, agentsAreAwaited(silent))
  return waitForServers(input, live) ?? restoreFirst(input, live) ?? commitLeader(input, live)
}

/** All known members say what they stored. */
function rebuild(input: DecisionInput, silent: readonly InstanceView[]): FlowStep {
  if (silent.length > 0) return waitForSilent(input, silent)
  const past = input.snapshot.instances.find((view) => view.past !== undefined)
  if (past !== undefined) return standBehindPast(past)
  const rebuilt = rebuiltRecord(input, null)
  return 'refusal' in rebuilt
    ? standStillInMaking(say`the record is lost: ${rebuilt.refusal}`)
    : rebuiltStep(rebuilt, say`the record was lost and is rebuilt from what all instances show: ${rebuilt.leads}`)
}

/** Where no group goes on, the record is what the failover begins with that forms the group anew. */
function rebuiltStep({ next, goesOn }: Rebuilt, why: Sentence): FlowStep {
  return step(why, [{ kind: 'commit', next, why }], { flow: goesOn ? 'bootstrap' : 'failover' })
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

/** A person chose who leads, and gives up what only others hold. */
function forcedStep(input: DecisionInput, to: InstanceName): FlowStep {
  const plan = planForcedBootstrap(input, to)
  if ('refusal' in plan) return standStillInMaking(say`no forced bootstrap: ${plan.refusal}`)
  const given = say`given up: ${plan.givenUp}`
  const rebuilt = isRecordLost(input) ? rebuiltRecord(input, to) : undefined
  return rebuilt !== undefined && 'next' in rebuilt
    ? rebuiltStep(rebuilt, say`forced: the record was lost and is rebuilt: ${rebuilt.leads}; ${given}`)
    : commitFirst(input, plan.leader, say`forced: ${to} forms the group; ${given}`)
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
  return step(why, [{ kind: 'commit', next, why, isAnswer: true }])
}

function versionOf({ observation }: LiveView): string {
  return observation.server?.version ?? ''
}

/**
 * Of a cluster that never had a record each instance says what it holds, and is in no group. Of one whose record is
 * lost, whoever is silent is given up; a group that goes on keeps its primary.
 */
export function planForcedBootstrap(
  input: DecisionInput,
  to: InstanceName,
): ForcedBootstrap | { readonly refusal: Sentence } {
  const plan = planAnyForced(input, to)
  if ('refusal' in plan) return plan
  if (isRecordLost(input)) {
    const rebuilt = rebuiltRecord(input, to)
    return 'refusal' in rebuilt ? rebuilt : plan
  }
  const silent = input.snapshot.instances.filter((view) => !isServing(view, input.timings)).map(({ name }) => name)
  return silent.length > 0 ? { refusal: say`${allOf(silent)} must answer first` } : plan
}
