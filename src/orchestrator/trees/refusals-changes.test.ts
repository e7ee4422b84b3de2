import { expect, test } from 'vitest'
import { knownShop, orchestratorOver } from '../testing.ts'
import {
  channel,
  heldAt as held,
  of,
  places,
  refuses,
  treeOf,
  unseen,
  type Otherwise,
  type Refusal,
} from './testing.ts'
import { gtids, uuidOf } from '#topology/testing.ts'

/** Each check by which orchestrator refuses to change one server, with the function that has the check there. */
const errant = `${uuidOf('shop-2')}:1`
const stray: Otherwise = {
  view: { server: { executed: `${gtids('shop-0', 100)},${errant}` } },
  server: { errant },
}
const away = channel({ sourceHost: '//127.24.1.2', sourceUuid: '' })

for (const path of ['detach-replica', 'detach-replica-master-host', 'detach-slave', 'detach-slave-master-host'])
  refuses(path, [
    ['DetachReplicaMasterHost: not a replica', {}, `${path}/shop-0/3306`, 'instance is not a replica: shop-0:3306'],
    ['DetachReplicaMasterHost: detached', of(2, away), `${path}/shop-2/3306`, 'instance already detached: shop-2:3306'],
    ['ReadTopologyInstance', of(2, unseen), `${path}/shop-2/3306`, 'shop-2:3306: last check invalid'],
    ['BeginMaintenance', { held: 2 }, `${path}/shop-2/3306`, held(2, 'detach-replica-master-host')],
  ])

for (const path of ['reattach-replica', 'reattach-replica-master-host'])
  refuses(path, [
    ['ReattachReplicaMasterHost: not a replica', {}, `${path}/shop-0/3306`, 'instance is not a replica: shop-0:3306'],
    [
      'ReattachReplicaMasterHost: not detached',
      {},
      `${path}/shop-2/3306`,
      'instance does not seem to be detached: shop-2:3306',
    ],
    ['ReadTopologyInstance', of(2, unseen), `${path}/shop-2/3306`, 'shop-2:3306: last check invalid'],
    ['BeginMaintenance', { ...of(2, away), held: 2 }, `${path}/shop-2/3306`, held(2, 'reattach-replica-master-host')],
  ])

refuses('reset-replica', [
  ['ReadTopologyInstance', of(2, unseen), 'reset-replica/shop-2/3306', 'shop-2:3306: last check invalid'],
  ['BeginMaintenance', { held: 2 }, 'reset-replica/shop-2/3306', held(2, 'reset replica')],
])

test('A root has nothing to reset, and that is no error, as at orchestrator', async () => {
  const { get, done } = await treeOf()
  expect((await get('reset-replica/shop-0/3306')).body.Code).toBe('OK')
  expect(done).toEqual([])
})

for (const path of ['stop-replica', 'stop-replica-nice', 'start-replica', 'restart-replica'])
  refuses(path, [
    ['not a replica', {}, `${path}/shop-0/3306`, 'instance is not a replica: shop-0:3306'],
    ['ReadTopologyInstance', of(2, unseen), `${path}/shop-2/3306`, 'shop-2:3306: last check invalid'],
    ['getInstanceKey', {}, `${path}/nobody/3306`, 'Cannot read instance: nobody:3306'],
  ])

refuses('gtid-errant-reset-master', [
  ['ReadTopologyInstance', of(2, unseen), 'gtid-errant-reset-master/shop-2/3306', 'shop-2:3306: last check invalid'],
  [
    'ErrantGTIDResetMaster: none',
    {},
    'gtid-errant-reset-master/shop-2/3306',
    'gtid-errant-reset-master will not operate on shop-2:3306 because no errant GTID is found',
  ],
  [
    'ErrantGTIDResetMaster: no GTIDs',
    of(2, { ...stray, server: { errant, gtidMode: 'OFF' } }),
    'gtid-errant-reset-master/shop-2/3306',
    'gtid-errant-reset-master requested for shop-2:3306 but it is not using oracle-gtid',
  ],
  [
    'ErrantGTIDResetMaster: replicas',
    of(1, stray),
    'gtid-errant-reset-master/shop-1/3306',
    'gtid-errant-reset-master will not operate on shop-1:3306 because it has 2 replicas. Expecting no replicas',
  ],
  [
    'BeginMaintenance',
    { ...of(2, stray), held: 2 },
    'gtid-errant-reset-master/shop-2/3306',
    held(2, 'reset-master-gtid'),
  ],
])

refuses('gtid-errant-inject-empty', [
  ['ReadTopologyInstance', of(2, unseen), 'gtid-errant-inject-empty/shop-2/3306', 'shop-2:3306: last check invalid'],
  [
    'ErrantGTIDInjectEmpty: none',
    {},
    'gtid-errant-inject-empty/shop-2/3306',
    'gtid-errant-inject-empty will not operate on shop-2:3306 because no errant GTID is found',
  ],
  [
    'ErrantGTIDInjectEmpty: no GTIDs',
    of(2, { ...stray, server: { errant, gtidMode: 'OFF' } }),
    'gtid-errant-inject-empty/shop-2/3306',
    'gtid-errant-inject-empty requested for shop-2:3306 but it does not support oracle-gtid',
  ],
  [
    'ErrantGTIDInjectEmpty: no master takes writes',
    { servers: { 0: { view: { server: { readOnly: true } } }, 2: stray } },
    'gtid-errant-inject-empty/shop-2/3306',
    'gtid-errant-inject-empty found no writabel master for shop-0:3306 cluster',
  ],
  [
    'ErrantGTIDInjectEmpty: the master has no GTIDs',
    { servers: { 0: { server: { gtidMode: 'OFF' } }, 2: stray } },
    'gtid-errant-inject-empty/shop-2/3306',
    "gtid-errant-inject-empty requested for shop-2:3306 but the cluster's master shop-0:3306 does not support oracle-gtid",
  ],
])

const dead: readonly Refusal[] = [
  'set-read-only',
  'set-writeable',
  'flush-binary-logs',
  'enable-semi-sync-master',
  'disable-semi-sync-master',
  'enable-semi-sync-replica',
  'disable-semi-sync-replica',
  'restart-replica-statements',
].map((path) => ['ReadTopologyInstance', of(2, unseen), `${path}/shop-2/3306`, 'shop-2:3306: last check invalid'])

refuses('A server that does not answer', dead)

refuses('Semi-sync', [
  [
    'SET GLOBAL: no plugin',
    of(2, {
      server: {
        more: {
          ...{ uptimeSeconds: 1, versionComment: '', rowImage: 'FULL', purged: '', encrypted: false },
          semiSync: { isThere: false, isOn: false, isReplicaOn: false, acks: 0, clients: 0, waiting: 0, timeoutMs: 0 },
        },
      },
    }),
    'enable-semi-sync-replica/shop-2/3306',
    'shop-2:3306: semi-sync plugins are not installed there',
  ],
])

const standing = channel({ ioRunning: 'connecting' })
const broken = channel({ sqlRunning: false, sqlError: 'duplicate entry' })

test.each(['start-replica', 'restart-replica'])(
  'StartReplication: %s of one that does not run afterwards is an error',
  async (path) => {
    for (const state of [standing, broken]) {
      const { get, done } = await treeOf(of(2, state))
      expect(await get(`${path}/shop-2/3306`)).toMatchObject({
        status: 500,
        body: { Code: 'ERROR', Message: 'Replication not running' },
      })
      expect(done).toContain('start shop-2')
    }
  },
)

const lone = 'can-replicate-from/shop-2/3306/shop-4/3306'
refuses('can-replicate-from', [
  [
    'CanReplicateFrom',
    of(4, { server: { logBin: false } }),
    lone,
    'instance does not have binary logs enabled: shop-4:3306',
  ],
  ['getInstanceKey', {}, 'can-replicate-from/shop-2/3306/nobody/3306', 'Cannot read instance: nobody:3306'],
  [
    'CanReplicateFrom: itself',
    {},
    'can-replicate-from-gtid/shop-2/3306/shop-2/3306',
    'instance cannot replicate from itself: shop-2:3306',
  ],
  [
    'CheckMoveViaGTID',
    of(2, places),
    'can-replicate-from-gtid/shop-2/3306/shop-4/3306',
    'Instances shop-2:3306, shop-4:3306 not GTID compatible or not using GTID',
  ],
  [
    'CheckMoveViaGTID: purged',
    of(4, { view: { server: { purged: gtids('shop-3', 7) } } }),
    'can-replicate-from-gtid/shop-2/3306/shop-4/3306',
    'Instance shop-4:3306 has purged GTID entries not found on shop-2:3306',
  ],
])

test('can-replicate-from says why not of a managed cluster, too', async () => {
  const { get } = await orchestratorOver([knownShop()])
  expect((await get('can-replicate-from/shop-1/3306/shop-2/3306')).body).toMatchObject({ Code: 'OK', Message: 'true' })
  expect((await get('can-replicate-from/shop-1/3306/shop-1/3306')).body).toMatchObject({
    Code: 'ERROR',
    Message: 'instance cannot replicate from itself: shop-1:3306',
  })
})

test('A receiver that somebody has stopped is not started where a nice stop fails', async () => {
  const { get, done } = await treeOf(of(2, channel({ ioRunning: 'no' })))
  await get('stop-replica-nice/shop-2/3306')
  expect(done).toEqual(['drain shop-2', 'stop shop-2'])
})
