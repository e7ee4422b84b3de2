import { expect, test } from 'vitest'
import type { Lease } from '#controller-runtime/objects/lease.ts'
import { addressInLease, leaderAddress } from './leader-address.ts'

const orchestrator = { enabled: true, port: 3000 }

function leaseOf(holderIdentity: string, annotations: Readonly<Record<string, string>>): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: 'regent', name: 'regent-manager', annotations },
    spec: { holderIdentity },
  }
}

test.each([
  ['10.0.0.1', '10.0.0.1:3000'],
  ['fd00::1', '[fd00::1]:3000'],
])('A manager at %s is found by the lease that it holds', (ip, address) => {
  const said = addressInLease({ identity: 'one_1', ip, orchestrator })
  expect(leaderAddress(leaseOf('one_1', said), 'two_2')).toBe(address)
})

test('What a former holder left, or this manager itself wrote, leads nowhere', () => {
  const said = addressInLease({ identity: 'one_1', ip: '10.0.0.1', orchestrator })
  expect(leaderAddress(leaseOf('three_3', said), 'two_2')).toBeUndefined()
  expect(leaderAddress(leaseOf('', said), 'two_2')).toBeUndefined()
  expect(leaderAddress(leaseOf('one_1', said), 'one_1')).toBeUndefined()
  expect(leaderAddress(undefined, 'two_2')).toBeUndefined()
})

test('A manager without the interface, or without an address, says none', () => {
  const identity = 'one_1'
  expect(addressInLease({ identity, ip: undefined, orchestrator })).toEqual({})
  expect(addressInLease({ identity, ip: '10.0.0.1', orchestrator: { ...orchestrator, enabled: false } })).toEqual({})
})
