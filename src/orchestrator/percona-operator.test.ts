import { describe, expect, test } from 'vitest'
import { shopRecovery } from '#manager/api/testing.ts'
import { knownShop, orchestratorOver } from './testing.ts'

/**
 * Each call that Percona’s operator for MySQL makes by HTTP, in the order of its client, with what that reads of the
 * answer: an instance, a list, a text, or the envelope’s code and message.
 */
const ok = { Code: 'OK' }
const error = (message: string) => ({ Code: 'ERROR', Message: expect.stringContaining(message) as string })
const instance = (name: string) => ({
  ...{ Key: { Hostname: name, Port: 3306 }, InstanceAlias: name, ClusterName: 'shop-0:3306', IsDowntimed: false },
  ...{ IsLastCheckValid: true, Problems: [], ElapsedDowntime: 0, ReadOnly: name !== 'shop-0' },
})
const calls: readonly (readonly [path: string, reads: unknown, asks?: object])[] = [
  ['master/shop', { ...instance('shop-0'), MasterKey: { Hostname: '', Port: 0 }, Replicas: { length: 2 } }],
  ['master/other', error('Unable to determine cluster name')],
  ['cluster/shop', [instance('shop-0'), instance('shop-1'), instance('shop-2')]],
  ['cluster/other', error('Unable to determine cluster name')],
  ['instance/shop-1/3306', { ...instance('shop-1'), MasterKey: { Hostname: 'shop-0', Port: 3306 } }],
  ['instance/other/3306', error('Cannot read instance: other:3306')],
  ['clusters', ['shop-0:3306']],
  ['health', ok],
  ['leader-check', 'OK'],
  ['raft-state', error('not running with raft setup')],
  ['raft-leader', error('not running with raft setup')],
  ['raft-add-peer/10.0.0.1', error('not running with raft setup')],
  ['raft-remove-peer/10.0.0.1', error('not running with raft setup')],
  ['discover/shop-1/3306', ok],
  [
    'begin-downtime/shop-0/3306/percona-server-mysql-operator/graceful-switchover/40s',
    ok,
    { operation: 'downtime', request: { instance: 'shop-0', forMs: 40_000, reason: 'graceful-switchover' } },
  ],
  [
    'graceful-master-takeover-auto/shop/shop-1/3306',
    { ...ok, Details: { SuccessorKey: { Hostname: 'shop-1' }, UID: 'r1' } },
    { operation: 'switchover', request: { from: 'shop-0', to: 'shop-1' } },
  ],
  ['graceful-master-takeover-auto/shop', ok, { operation: 'switchover', request: { from: 'shop-0' } }],
  ['force-master-takeover/shop/shop-1/3306', ok, { operation: 'switchover', request: { to: 'shop-1' } }],
  ['end-downtime/shop-0/3306', ok, { operation: 'end-downtime', request: { instance: 'shop-0' } }],
  ['set-writeable/shop-0/3306', ok],
  ['set-writeable/shop-1/3306', error('refused for shop-1:3306')],
  ['stop-replica/shop-1/3306', error('call regent fence')],
  ['start-replica/shop-1/3306', ok],
  ['register-candidate/shop-1/3306/prefer', ok],
  ['audit-recovery/cluster/shop', [{ UID: 'r1', AnalysisEntry: { IsMaster: true }, IsSuccessful: true }]],
  ['ack-recovery/uid/r1?comment=seen', ok],
  ['forget/shop-2/3306', ok],
  ['instance/shop-2/3306', error('Cannot read instance')],
]

describe('Percona’s operator asks', () => {
  test('every call is answered in the shape that is read, and asks for the operation that is meant', async () => {
    const { get, asked } = await orchestratorOver([knownShop()], { recoveries: [shopRecovery] })
    for (const [path, reads, asks] of calls) {
      const { body } = await get(path)
      if (typeof reads === 'string') expect([path, body]).toEqual([path, reads])
      else expect({ path, body }).toMatchObject({ path, body: reads })
      expect({ path, asked: asked.splice(0) }).toMatchObject({ path, asked: asks === undefined ? [] : [asks] })
    }
  })
})
