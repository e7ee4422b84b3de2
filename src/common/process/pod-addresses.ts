import { isIP, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/** Where nobody tells. */
const anywhere = '0.0.0.0'

/**
 * Where a router listens: the addresses of its pod, one of each family that the pod has. An address that no interface
 * has would keep HAProxy from starting, and the other family without a listener.
 */
export function listeningHosts(
  podIps: string,
  own: readonly string[],
): readonly [first: string, ...others: readonly string[]] {
  const here = hostsHere(podIps, own)
  const [first = anywhere, ...others] = here.length > 0 ? here : hostsIn(podIps)
  return [first, ...others]
}

/** The addresses of a pod that its interfaces have. @param podIps with commas between */
export function hostsHere(podIps: string, own: readonly string[]): readonly string[] {
  const has = new Set(own.map(written))
  return hostsIn(podIps).filter((host) => has.has(written(host)))
}

function hostsIn(podIps: string): readonly string[] {
  return podIps
    .split(',')
    .map((host) => host.trim())
    .filter((host) => isIP(host) !== 0)
}

export function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
}

/** The host in the shortest of all ways to write it. */
function written(host: string): string {
  return isIPv6(host) ? new URL(`tcp://[${host.replace(/%.*$/, '')}]`).hostname : host
}
