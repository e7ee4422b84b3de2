import type { ClusterNotes } from '#failover/protocol/notes.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'

/** The policies that people said for a while, and that still hold, by instance. */
export function promotionsAt({ annotations }: ClusterNotes, wallMs: number): ClusterSpec['policies'] {
  const said = Object.entries(annotations?.promotions ?? {}).filter(([, { untilWallMs }]) => untilWallMs > wallMs)
  return Object.fromEntries(said.map(([name, { promotion, priority }]) => [name, { promotion, priority }]))
}

/** The spec with those. */
export function withPromotions(spec: ClusterSpec, notes: ClusterNotes, wallMs: number): ClusterSpec {
  const policies = promotionsAt(notes, wallMs)
  return Object.keys(policies).length === 0 ? spec : { ...spec, policies: { ...spec.policies, ...policies } }
}
