import { groupView } from '../../topology/group/group-view.ts'
import { critical, info, warning } from '../../topology/analysis/analysis-input.ts'
import type { Analysis } from '../../topology/analysis/analysis.ts'
import { instanceOf, type InstanceName } from '../../topology/snapshot/member.ts'
import type { MemberState } from '../../topology/snapshot/observation.ts'
import type { DecisionInput } from '../judge/situation.ts'
import type { ClusterRecord } from '../protocol/record.ts'
import type { Downtime } from '../protocol/notes.ts'

/** What is wrong with a cluster that is one replication group, the worst first. */
export function analyseGroup(input: DecisionInput, downtimes: readonly Downtime[]): readonly Analysis[] {
  const { record, notes } = input
  if (record === undefined) return []
  const paused = notes.paused === null ? [] : [info('Paused', null, `paused: ${notes.paused.reason}`)]
  return [...analyseView(input, record, downtimes), ...paused]
}

function analyseView(
  { snapshot, timings }: DecisionInput,
  record: ClusterRecord,
  downtimes: readonly Downtime[],
): readonly Analysis[] {
  const expected = [record.primary, ...record.syncSet].map(instanceOf)
  const view = groupView(snapshot, { name: record.group?.name ?? '', expected, frozenMs: timings.frozenMs })
  switch (view.condition) {
    case 'splitBrain':
      return [critical('TwoWritablePrimaries', null, view.sentence)]
    case 'noQuorum':
    case 'outage':
    case 'uncertain':
      return [critical('NoWritablePrimary', null, view.sentence)]
    case 'online':
    case 'partial':
      return expected
        .filter((name) => view.members.get(name) !== 'ONLINE')
        .map((name) => missingMember(name, view.members.get(name), downtimes))
  }
}

/** Trouble of an instance in downtime calls nobody. */
function missingMember(name: InstanceName, state: MemberState | undefined, downtimes: readonly Downtime[]): Analysis {
  const sentence = `${name} is ${state?.toLowerCase() ?? 'missing'} in the group`
  return downtimes.some(({ instance }) => instance === name)
    ? { ...info('ReplicaNotReplicating', name, `${sentence} (expected)`), expected: true }
    : warning('ReplicaNotReplicating', name, sentence)
}
