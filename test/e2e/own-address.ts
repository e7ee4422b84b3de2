import { networkInterfaces } from 'node:os'
import { found } from './kube-cluster.ts'

/** Where pods reach what a test listens with: on a cluster of this machine tests run in the control plane's network. */
export function ownAddress(family: 'IPv4' | 'IPv6' = 'IPv4'): string {
  const all = Object.values(networkInterfaces()).flatMap((one) => one ?? [])
  return found(
    all.find((one) => one.family === family && !one.internal && !one.address.startsWith('fe80:'))?.address,
    `an address of ${family} of this machine`,
  )
}
