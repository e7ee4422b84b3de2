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

/** A MicroTime: the API server takes exactly six digits after the point, and refuses the three of an ISO string. */
export function microTime(clock: Clock): string {
  return new Date(clock.wallMs()).toISOString().replace('Z', '000Z')
}
