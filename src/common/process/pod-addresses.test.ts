import { expect, it } from 'vitest'
import { hostsHere, listeningHosts } from './pod-addresses.ts'

const loopback = ['127.0.0.1', '::1']

it.each([
  ['both families, where the pod has both', '10.1.0.7,fd00::7', ['10.1.0.7', 'fd00::7'], ['10.1.0.7', 'fd00::7']],
  ['the only one', 'fd00::7', ['fd00::7', 'fe80::1%eth0'], ['fd00::7']],
  ['the one that an interface has, where IPv6 is off', '10.1.0.7,fd00::7', ['10.1.0.7'], ['10.1.0.7']],
  [
    'an address however it is written',
    '10.1.0.7,fd00:0:0::0007',
    ['10.1.0.7', 'fd00::7'],
    ['10.1.0.7', 'fd00:0:0::0007'],
  ],
  ['what Kubernetes says, where no interface tells', '10.1.0.7,fd00::7', [], ['10.1.0.7', 'fd00::7']],
  ['every IPv4 address, where nothing is said', '', ['10.1.0.7'], ['0.0.0.0']],
  ['every IPv4 address, where nonsense is said', 'pod,', ['10.1.0.7'], ['0.0.0.0']],
])('A router listens at %s', (_, podIps, own, wanted) => {
  expect(listeningHosts(podIps, [...loopback, ...own])).toEqual(wanted)
})

it.each([
  ['where nothing is said', '', ['10.1.0.7'], []],
  ['that no interface has', '10.1.0.7,fd00::7', ['fd00::7'], ['fd00::7']],
  ['where no interface tells', '10.1.0.7', [], []],
])('Of the addresses of a pod none is here %s', (_, podIps, own, wanted) => {
  expect(hostsHere(podIps, own)).toEqual(wanted)
})
