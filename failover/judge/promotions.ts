import type { ClusterNotes } from '../protocol/notes.ts'
import type { ClusterSpec } from '../protocol/spec.ts'

/** The spec with the policies that people said for a while, as long as these hold. */
export function withPromotions(spec: ClusterSpec, { annotations }: ClusterNotes, wallMs: number): ClusterSpec {
  const said = Object.entries(annotations?.promotions ?? {}).filter(([, { untilWallMs }]) => untilWallMs > wallMs)
  if (said.length === 0) return spec
  const policies = said.map(([name, { promotion, priority }]) => [name, { promotion, priority }] as const)
  return { ...spec, policies: { ...spec.policies, ...Object.fromEntries(policies) } }
}
