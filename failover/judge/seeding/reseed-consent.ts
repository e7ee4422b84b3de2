import type { InstanceName } from '#topology/snapshot/member.ts'
import type { ClusterNotes } from '#failover/protocol/notes.ts'
import { heldAt, heldOfOthers } from '../said-for-a-while.ts'

/** So long a person's word counts: a copy that began in that time is finished, and nobody begins one later. */
export const consentMs = 600_000

/** Whether an instance may give up its data for a copy of another: by the policy, or by a person's word. */
export function mayReseed(
  {
    spec,
    notes,
    wallMs,
  }: { readonly spec: { readonly reseed: string }; readonly notes: ClusterNotes; readonly wallMs: number },
  instance: InstanceName,
): boolean {
  return (
    spec.reseed === 'automatic' || heldAt(notes.reseedConsents, wallMs).some((consent) => consent.instance === instance)
  )
}

/** The word takes the place of an earlier one for that instance. */
export function withConsent(notes: ClusterNotes, instance: InstanceName, wallMs: number): ClusterNotes {
  const others = heldOfOthers(notes.reseedConsents, instance, wallMs)
  return { ...notes, reseedConsents: [...others, { instance, untilWallMs: wallMs + consentMs }] }
}
