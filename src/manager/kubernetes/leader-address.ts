import { hostPort } from '#common/text/host-port.ts'
import type { Lease } from '#controller-runtime/objects/lease.ts'
import { manager } from '#kube/names/manager-names.ts'

interface Serving {
  readonly identity: string
  /** The address of its pod; undefined where nobody says that. */
  readonly ip: string | undefined
  readonly orchestrator: { readonly enabled: boolean; readonly port: number }
}

/** What a manager that leads writes into the lease: where the others reach its interface of orchestrator. */
export function addressInLease({ identity, ip, orchestrator }: Serving): Readonly<Record<string, string>> {
  if (!orchestrator.enabled || ip === undefined) return {}
  return { [manager.addressAnnotation]: `${identity} ${hostPort(ip, orchestrator.port)}` }
}

/** The address in the lease. An address that a former holder left is nobody's, and the own one is of no use. */
export function leaderAddress(lease: Lease | undefined, own: string): string | undefined {
  if (lease === undefined) return undefined
  const { metadata, spec } = lease
  const [identity, address] = metadata.annotations?.[manager.addressAnnotation]?.split(' ') ?? []
  return identity === spec?.holderIdentity && identity !== own ? address : undefined
}
