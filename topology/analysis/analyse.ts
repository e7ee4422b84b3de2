import { say } from '#common/sentence/sentence.ts'
import { analyseDurability } from './analyse-durability.ts'
import { analysePrimary } from './analyse-primary.ts'
import { analyseReplicas } from './analyse-replicas.ts'
import { analyseServers } from './analyse-servers.ts'
import { analyseStanding, isIsolated } from './analyse-standing.ts'
import type { Analysis, Severity } from './analysis.ts'
import type { Expected, Limits } from './analysis-input.ts'
import { primaryCondition } from './primary-condition.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/**
 * Everything that is wrong with a cluster, each with a sentence that names instance and numbers, the worst first.
 *
 * The codes are orchestrator's in source/replica terms; unlike orchestrator, which polls servers, this reads what the
 * agents beside the servers say, and falls back on replicas as witnesses only where an agent is silent.
 */
export function analyse(snapshot: Snapshot, expected: Expected, limits: Limits): readonly Analysis[] {
  const input = { snapshot, expected, limits }
  if (isIsolated(snapshot.instances)) return bySeverity(analyseStanding(input))
  const condition = primaryCondition(input)
  const findings = [
    ...analysePrimary(condition, input),
    ...analyseDurability(condition, input),
    ...analyseStanding(input),
    ...analyseReplicas(condition, input),
    ...analyseServers(input),
  ]
  return ranked(findings, expected)
}

/** The worst first; what a person expects calls nobody. */
export function ranked(findings: readonly Analysis[], expected: Expected): readonly Analysis[] {
  return bySeverity(findings.map((finding) => asExpected(finding, expected)))
}

/**
 * Trouble of an instance in downtime calls nobody. What is critical is about the writes of the whole cluster, whichever
 * instance it names: that nobody can expect.
 */
function asExpected(finding: Analysis, { downtimes }: Expected): Analysis {
  const words = finding.instance === null ? undefined : downtimes?.get(finding.instance)
  if (words === undefined || finding.severity === 'critical') return finding
  return { ...finding, severity: 'info', sentence: say`${finding.sentence} (expected: ${words})`, expected: true }
}

const ranks: Readonly<Record<Severity, number>> = { critical: 0, warning: 1, info: 2 }

function bySeverity(findings: readonly Analysis[]): readonly Analysis[] {
  return findings.toSorted((left, right) => ranks[left.severity] - ranks[right.severity])
}
