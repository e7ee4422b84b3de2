import { groupView } from '../../topology/group/group-view.ts'
import { critical, info, warning } from '../../topology/analysis/analysis-input.ts'
import type { Analysis } from '../../topology/analysis/analysis.ts'
import { instanceOf } from '../../topology/snapshot/member.ts'
import type { DecisionInput } from '../judge/situation.ts'
import type { Downtime } from '../protocol/notes.ts'

/** What is wrong with a cluster that is one replication group, the worst first. */
export function analyseGroup(input: DecisionInput, downtimes: readonly Downtime[]): readonly Analysis[] {
  const { record, snapshot, timings, notes } = input
  if (record === undefined) return []
  const expected = [record.primary, ...record.syncSet].map(instanceOf)
  const view = groupView(snapshot, { name: record.group?.name ?? '', expected, frozenMs: timings.frozenMs })
  const paused = notes.paused === null ? [] : [info('Paused', null, `paused: ${notes.paused.reason}`)]
  const isExpected = (name: string): boolean => downtimes.some(({ instance }) => instance === name)
  switch (view.condition) {
    case 'splitBrain':
      return [critical('TwoWritablePrimaries', null, view.sentence), ...paused]
    case 'noQuorum':
    case 'outage':
    case 'uncertain':
      return [critical('NoWritablePrimary', null, view.sentence), ...paused]
    case 'online':
    case 'partial':
      return [
        ...expected
          .filter((name) => view.members.get(name) !== 'ONLINE')
          .map((name) => {
            const sentence = `${name} is ${view.members.get(name)?.toLowerCase() ?? 'missing'} in the group`
            return isExpected(name)
              ? { ...info('ReplicaNotReplicating', name, `${sentence} (expected)`), expected: true as const }
              : warning('ReplicaNotReplicating', name, sentence)
          }),
        ...paused,
      ]
  }
}
