import { counted, heard, say, text } from '#common/sentence/sentence.ts'
import { groupView, type GroupView } from '#topology/group/group-view.ts'
import { ranked } from '#topology/analysis/analyse.ts'
import { analysePast } from '#topology/analysis/analyse-durability.ts'
import { analyseWriters } from '#topology/analysis/analyse-primary.ts'
import { analyseSeeding } from '#topology/analysis/analyse-replicas.ts'
import { analyseServers } from '#topology/analysis/analyse-servers.ts'
import { analyseStanding, isIsolated } from '#topology/analysis/analyse-standing.ts'
import { critical, warning, type AnalysisInput, type Expected } from '#topology/analysis/analysis-input.ts'
import type { Analysis } from '#topology/analysis/analysis.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { describeDowntime, downtimesAt } from '../judge/downtime.ts'
import { wantedInstances, type DecisionInput } from '../judge/situation.ts'
import { recordedMembers, type ClusterRecord } from '../protocol/record.ts'
import { costOfSize } from '../protocol/spec.ts'
import { analyseMembers } from './analyse-members.ts'
import { knownBy } from './view.ts'

/** What is wrong with a cluster that is one replication group, the worst first. */
export function analyseGroup(input: DecisionInput): readonly Analysis[] {
  const { snapshot, record, timings, spec } = input
  const members = record === undefined ? [] : recordedMembers(record).map(instanceOf)
  const view = groupView(snapshot, knownBy(record, timings))
  const expected = expectedBy(input, view)
  const within: AnalysisInput = {
    snapshot,
    expected,
    limits: { frozenMs: timings.frozenMs, maxLagSeconds: spec.maxLagSeconds },
  }
  // Agents were told of the record's primary.
  const recorded = { ...within, expected: { ...expected, primary: members[0] ?? null } }
  const standing = [...analyseStanding(recorded), ...analysePause(input)]
  if (isIsolated(snapshot.instances)) return ranked(standing, expected)
  const findings = [
    ...(record === undefined ? [beforeAnyRecord(snapshot.instances.length)] : analyseView(view, record, within)),
    ...analyseWriters(within),
    ...standing,
    ...snapshot.instances.flatMap((one) => [...analyseSeeding(one), ...analysePast(one), ...analyseForgetful(one)]),
    ...analyseServers(within).filter(({ code }) => !ofSemiSync.has(code)),
    ...analyseSize(input),
  ]
  return ranked(findings, expected)
}

/** What only semi-synchronous replication suffers from. */
const ofSemiSync: ReadonlySet<string> = new Set(['BinlogNumberHigh'])

/** The group elects: the record names the group's primary a moment later. */
function expectedBy(input: DecisionInput, view: GroupView): Expected {
  const { record, notes, wallMs } = input
  return {
    primary: view.primary ?? (record === undefined ? null : instanceOf(record.primary)),
    epoch: record?.epoch ?? 0,
    revision: record?.revision ?? 0,
    syncSet: record?.syncSet.map(instanceOf) ?? [],
    acks: 0,
    fenced: notes.fenced.map(({ instance }) => instance),
    paused: false,
    notesDamage: input.notesDamage ?? '',
    downtimes: new Map(downtimesAt(notes, wallMs).map((each) => [each.instance, describeDowntime(each)])),
  }
}

function beforeAnyRecord(instances: number): Analysis {
  return critical('NoWritablePrimary', null, say`no primary is recorded yet for ${counted(instances, 'instance')}`)
}

/** The group as a whole first, then each member. */
function analyseView(view: GroupView, record: ClusterRecord, within: AnalysisInput): readonly Analysis[] {
  return [...analyseCondition(view, record, within), ...analyseMembers(view, record, within)]
}

function analyseCondition(view: GroupView, record: ClusterRecord, within: AnalysisInput): readonly Analysis[] {
  const { condition, sentence } = view
  if (record.group?.forming === true && condition !== 'splitBrain') return [forming(record, within)]
  if (condition === 'online' || condition === 'partial')
    return view.primary === null ? [critical('NoWritablePrimary', null, sentence)] : []
  return [critical(codes[condition], null, sentence)]
}

const codes = {
  splitBrain: 'GroupSplitBrain',
  noQuorum: 'GroupNoQuorum',
  outage: 'GroupOutage',
  uncertain: 'GroupUncertain',
} as const

function forming({ primary }: ClusterRecord, { snapshot }: AnalysisInput): Analysis {
  const name = instanceOf(primary)
  const does = snapshot.instances.find((one) => one.name === name && one.reachable)?.observation?.converged.sentence
  return critical(
    'NoWritablePrimary',
    name,
    say`${name} is to form the group: ${does === undefined ? say`its agent is not heard` : heard(does)}`,
  )
}

/** A pause holds back Regent alone: the group elects another primary by itself all the same. */
function analysePause({ notes: { paused } }: DecisionInput): readonly Analysis[] {
  return paused === null
    ? []
    : [
        warning(
          'Paused',
          null,
          say`automatic actions are paused (${text(paused.reason)}): nobody is admitted, and no group is formed anew, until they are resumed; the group elects by itself`,
        ),
      ]
}

function analyseForgetful({ name, observation }: InstanceView): readonly Analysis[] {
  const stored = observation?.stored
  if (stored?.forgetful !== true || stored.gtidsReset) return []
  return [
    warning(
      'ForgetfulReplica',
      name,
      say`the machine of ${name} crashed, or its volume was cut off: it may have forgotten what it had received, and gets that from the group`,
    ),
  ]
}

function analyseSize(input: DecisionInput): readonly Analysis[] {
  const wanted = wantedInstances(input)
  if (wanted === 1) return [warning('NotProtected', null, say`there is only one instance: what it loses is lost`)]
  const cost = costOfSize(input.spec, wanted)
  return cost === undefined ? [] : [warning('GroupEvenSize', null, say`${text(cost)}`)]
}
