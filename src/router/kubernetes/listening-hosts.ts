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
  const said = podIps
    .split(',')
    .map((host) => host.trim())
    .filter((host) => isIP(host) !== 0)
  const has = new Set(own.map(written))
  const there = said.filter((host) => has.has(written(host)))
  const [first = anywhere, ...others] = there.length > 0 ? there : said
  return [first, ...others]
}

export function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
}

/** Of all ways to write an address the shortest. */
function written(host: string): string {
  return isIPv6(host) ? new URL(`tcp://[${host.replace(/%.*$/, '')}]`).hostname : host
}
