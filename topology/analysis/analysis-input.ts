import type { Said, Sentence } from '#common/sentence/sentence.ts'
import type { Analysis, AnalysisCode, Severity } from './analysis.ts'
import type { InstanceName } from '../snapshot/member.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** How the cluster should be, as the record and a person's wishes say; this room does not know the record itself. */
export interface Expected {
  /** Null before there is one. */
  readonly primary: InstanceName | null
  readonly epoch: number
  readonly revision: number
  readonly syncSet: readonly InstanceName[]
  readonly acks: number
  readonly fenced: readonly InstanceName[]
  readonly paused: boolean
  /** Instances in downtime, with the words for it. Absent for none. */
  readonly downtimes?: ReadonlyMap<InstanceName, Sentence>
  /** Replicas that were passed over, and lack what their source never sends again: in words. Absent for none. */
  readonly passedOver?: ReadonlyMap<InstanceName, Said>
  /** Why the notes of the cluster cannot be used; '' or absent where they can. */
  readonly notesDamage?: string
}

export interface Limits {
  /** A server, or a replica's source, that was silent for this long does not work. */
  readonly frozenMs: number
  readonly maxLagSeconds: number
}

export interface AnalysisInput {
  readonly snapshot: Snapshot
  readonly expected: Expected
  readonly limits: Limits
}

export function critical(code: AnalysisCode, instance: InstanceName | null, sentence: Sentence): Analysis {
  return finding('critical', code, instance, sentence)
}

export function warning(code: AnalysisCode, instance: InstanceName | null, sentence: Sentence): Analysis {
  return finding('warning', code, instance, sentence)
}

/** Worth knowing, and nothing is wrong. */
export function info(code: AnalysisCode, instance: InstanceName | null, sentence: Sentence): Analysis {
  return finding('info', code, instance, sentence)
}

function finding(severity: Severity, code: AnalysisCode, instance: InstanceName | null, sentence: Sentence): Analysis {
  return { code, severity, instance, sentence }
}
