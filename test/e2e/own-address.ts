import { networkInterfaces } from 'node:os'
import { found } from './kube-cluster.ts'

type Family = 'IPv4' | 'IPv6'

/** Where pods reach what a test listens with: on a cluster of this machine tests run in the control plane's network. */
export function ownAddress(): string {
  return found(addressOf('IPv4') ?? addressOf('IPv6'), 'an address of this machine')
}

/** Whether this place, and so a cluster of this machine, has addresses of that family. */
export function hasFamily(family: Family): boolean {
  return addressOf(family) !== undefined
}

function addressOf(family: Family): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((one) => one ?? [])
  return all.find((one) => one.family === family && !one.internal && !one.address.startsWith('fe80:'))?.address
}
