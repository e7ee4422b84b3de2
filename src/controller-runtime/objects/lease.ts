import { microTime } from '#common/events/event-writing.ts'
import type { Clock } from '#common/ports/ports.ts'
import type { KubeObject, Resource } from './objects.ts'

/** `coordination.k8s.io/v1`: who leads, as everybody sees it. */
export interface LeaseSpec {
  /** Empty after a release. */
  readonly holderIdentity?: string
  readonly leaseDurationSeconds?: number
  readonly acquireTime?: string
  readonly renewTime?: string
  readonly leaseTransitions?: number
}

export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec
}

export const leases: Resource<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
}

/** A clock's moment, in whole milliseconds. */
export function microTimeOf(clock: Clock): string {
  return microTime(Math.trunc(clock.wallMs()) * 1_000)
}
