import { expect, test } from 'vitest'
import { uuidOf } from '#topology/testing.ts'
import { knownShop, orchestratorOver } from '../testing.ts'
import { channel, of, places, refuses, treeOf, unseen, type Otherwise, type State } from './testing.ts'

/** Each check by which orchestrator refuses to let another server lead, with the function that has the check there. */
const never = { promotion: 'never', priority: 0 } as const
const readOnly: Otherwise = { view: { server: { readOnly: true } } }
const death = { words: 'nobody listens there', loss: '', isLossAccepted: true }
const lost: Otherwise = channel({ ioRunning: 'connecting', ioError: 'error connecting to source' })
const flat = [null, 0, 0] as const

for (const path of ['graceful-master-takeover', 'graceful-master-takeover-auto'])
  refuses(path, [
    ['figureClusterName', {}, `${path}/nobody`, 'Unable to determine cluster name. clusterHint=nobody'],
    [
      'GracefulMasterTakeover: two masters',
      { follows: [1, 0, 0] },
      `${path}/shop/shop-2/3306`,
      /^Cannot deduce cluster master for shop-0:3306: that one follows shop-1:3306/,
    ],
    [
      'GracefulMasterTakeover: no replicas',
      { follows: [null] },
      `${path}/shop`,
      "Master shop-0:3306 doesn't seem to have replicas",
    ],
    [
      'getGracefulMasterTakeoverDesignatedInstance: no direct replica',
      {},
      `${path}/shop/shop-2/3306`,
      'GracefulMasterTakeover: indicated designated instance shop-2:3306 must be directly replicating from the master shop-0:3306',
    ],
    [
      'IsBannedFromBeingCandidateReplica',
      { policies: { 'shop-4': never } },
      `${path}/shop/shop-4/3306`,
      'GracefulMasterTakeover: designated instance shop-4:3306 cannot be promoted due to promotion rule or it is explicitly ignored in PromotionIgnoreHostnameFilters configuration',
    ],
    [
      'GetInstanceMaster: the master does not answer',
      of(0, unseen),
      `${path}/shop/shop-4/3306`,
      'GracefulMasterTakeover: shop-0:3306: last check invalid',
    ],
    [
      'HasReasonableMaintenanceReplicationLag',
      of(4, channel({ lagSeconds: 21 })),
      `${path}/shop/shop-4/3306`,
      'Desginated instance shop-4:3306 seems to be lagging too much for this operation. Aborting.',
    ],
    [
      'GracefulMasterTakeover: a sibling stays',
      of(1, { server: { serverId: 5 } }),
      `${path}/shop/shop-4/3306`,
      'Desginated instance shop-4:3306 cannot take over all of its siblings. Error: Identical server id: shop-4:3306, shop-1:3306 both have 5',
    ],
    [
      'ChangeMasterTo: the master could not follow',
      of(0, { view: { server: { version: '8.4.1' } } }),
      `${path}/shop/shop-4/3306`,
      /^GracefulMasterTakeover: instance shop-0:3306 has version 8\.4\.1, which is lower than 9\.7\.4 on shop-4:3306/,
    ],
    [
      'WaitForExecBinlogCoordinatesToReach: it stands',
      of(4, channel({ sqlRunning: false })),
      `${path}/shop/shop-4/3306`,
      'GracefulMasterTakeover: shop-4:3306: instance is not replicating',
    ],
  ])

refuses('Without a designated server', [
  [
    'getGracefulMasterTakeoverDesignatedInstance: several',
    {},
    'graceful-master-takeover/shop',
    'GracefulMasterTakeover: target instance not indicated, auto=false, and master shop-0:3306 has 2 replicas. orchestrator cannot choose where to failover to. Aborting',
  ],
  [
    'GetCandidateReplica: none',
    { policies: { 'shop-1': never, 'shop-4': never } },
    'graceful-master-takeover-auto/shop',
    'GracefulMasterTakeover: no target instance indicated, failed to auto-detect candidate replica for master shop-0:3306. Aborting',
  ],
  [
    'StartReplication: none that replicates',
    { servers: { 1: channel({ ioRunning: 'no' }), 4: channel({ ioRunning: 'no' }) } },
    'graceful-master-takeover-auto/shop',
    'GracefulMasterTakeover: no target instance indicated, failed to auto-detect candidate replica for master shop-0:3306. Aborting',
  ],
])

const dead = (more: State = {}): State => ({
  ...{ follows: flat, death },
  ...more,
  servers: { 0: unseen, 1: lost, 2: lost, ...more.servers },
})

refuses('force-master-failover', [
  ['figureClusterName', {}, 'force-master-failover/nobody', 'Unable to determine cluster name. clusterHint=nobody'],
  [
    'ForceMasterFailover: two masters',
    { follows: [1, 0, 0] },
    'force-master-failover/shop',
    /^Cannot deduce cluster master for shop-0:3306/,
  ],
  [
    'GetSortedReplicas: none',
    dead({ servers: { 1: { view: { reachable: false } }, 2: { view: { reachable: false } } } }),
    'force-master-failover/shop',
    'No replicas found for shop-0:3306',
  ],
  [
    'chooseCandidateReplica: all are banned',
    dead({ policies: { 'shop-1': never, 'shop-2': never } }),
    'force-master-failover/shop',
    'shop-1:3306 cannot be promoted due to promotion rule',
  ],
  [
    'isGenerallyValidAsBinlogSource: no binary logs',
    dead({ servers: { 1: { ...lost, server: { logBin: false } }, 2: { ...lost, server: { logBin: false } } } }),
    'force-master-failover/shop',
    'shop-1:3306: instance does not have binary logs enabled',
  ],
  [
    'isGenerallyValidAsBinlogSource: no log_slave_updates',
    dead({
      servers: {
        1: { ...lost, server: { logReplicaUpdates: false } },
        2: { ...lost, server: { logReplicaUpdates: false } },
      },
    }),
    'force-master-failover/shop',
    'shop-1:3306: instance does not have log_slave_updates enabled',
  ],
])

refuses('force-master-takeover', [
  ['ReadInstance', {}, 'force-master-takeover/shop/nobody/3306', 'Cannot read instance: nobody:3306'],
  [
    'ForceMasterTakeover: two masters',
    { follows: [1, 0, 0] },
    'force-master-takeover/shop/shop-2/3306',
    /^Cannot deduce cluster master for shop-0:3306/,
  ],
  [
    'ForceMasterTakeover: no direct child',
    {},
    'force-master-takeover/shop/shop-2/3306',
    'You may only promote a direct child of the master shop-0:3306. The master of shop-2:3306 is shop-1:3306.',
  ],
  [
    'ReadClusterWriteableMaster: the master takes no writes',
    of(0, readOnly),
    'force-master-takeover/shop/shop-4/3306',
    'Cannot deduce cluster master for shop-0:3306: shop-0:3306 answers, and takes no writes. graceful-master-takeover is for that',
  ],
])

test('Of a master that is dead nobody asks whether it took writes: the takeover is needed all the same', async () => {
  const { get, done } = await treeOf(
    dead({ servers: { 0: { view: { reachable: false, server: { readOnly: true } } } } }),
  )
  expect((await get('force-master-takeover/shop/shop-1/3306')).body.Code).toBe('OK')
  expect(done).toContain('lead shop-1')
})

const notAttempted = 'Recovery not attempted'
const middle = { follows: [null, 0, 1, 1, 0], servers: { 1: unseen, 2: lost, 3: lost } } as const

refuses('recover', [
  ['getCheckAndRecoverFunction: NoProblem', {}, 'recover/shop-0/3306', notAttempted],
  ['getCheckAndRecoverFunction: a replica', of(2, unseen), 'recover/shop-2/3306', notAttempted],
  [
    'getCheckAndRecoverFunction: DeadMasterAndReplicas',
    { follows: flat, servers: { 0: unseen, 1: unseen, 2: unseen } },
    'recover/shop-0/3306',
    notAttempted,
  ],
  [
    'getCheckAndRecoverFunction: DeadMasterWithoutReplicas',
    { follows: [null], servers: { 0: unseen } },
    'recover/shop-0/3306',
    notAttempted,
  ],
  [
    'getCheckAndRecoverFunction: DeadIntermediateMasterAndReplicas',
    { servers: { 1: unseen, 2: unseen, 3: unseen } },
    'recover/shop-1/3306',
    notAttempted,
  ],
  [
    'getCheckAndRecoverFunction: AllMasterReplicasNotReplicating',
    { follows: flat, servers: { 1: channel({ ioRunning: 'no' }), 2: channel({ ioRunning: 'no' }) } },
    'recover/shop-0/3306',
    notAttempted,
  ],
  ['GetReplicationAnalysis: in maintenance', { ...middle, held: 1 }, 'recover/shop-1/3306', notAttempted],
  [
    'RecoverDeadIntermediateMaster: none could be moved',
    {
      ...middle,
      servers: {
        0: places,
        1: { ...unseen, ...places },
        2: { ...lost, ...places },
        3: { ...lost, ...places },
        4: places,
      },
    },
    'recover/shop-1/3306',
    /^Recovery not attempted: Relocating shop-2:3306 below shop-4:3306 turns to be too complex/,
  ],
])

/** isValidAsCandidateSiblingOfIntermediateMaster: else the root takes the replicas of shop-1, which is dead. */
test.each([
  ['a sibling that is well', {}, 'shop-4'],
  ['none without binary logs', { server: { logBin: false } }, 'shop-0'],
  ['none without log_slave_updates', { server: { logReplicaUpdates: false } }, 'shop-0'],
  ['none that stands', channel({ sqlRunning: false }), 'shop-0'],
  ['none that does not answer', unseen, 'shop-0'],
  ['none that lacks what filters leave out', channel({ filtered: true }), 'shop-0'],
] as const)('Replicas of a dead intermediate master go below %s', async (_, sibling: Otherwise, expected) => {
  const filtered = channel({ filtered: true, ioRunning: 'connecting', ioError: 'error connecting to source' })
  const { get } = await treeOf({ ...middle, servers: { 1: unseen, 2: filtered, 3: filtered, 4: sibling } })
  expect((await get('recover/shop-1/3306')).body).toMatchObject({ Code: 'OK', Details: { Hostname: expected } })
})

test('Replicas of a dead intermediate master go below none that must not lead', async () => {
  const { get } = await treeOf({ ...middle, policies: { 'shop-4': never } })
  expect((await get('recover/shop-1/3306')).body).toMatchObject({ Code: 'OK', Details: { Hostname: 'shop-0' } })
})

test('A GTID that only a designated server has stops a takeover before anything is done', async () => {
  const own = `${uuidOf('shop-4')}:1`
  const executed = `${uuidOf('shop-0')}:1-100,${own}`
  const { get, done } = await treeOf(of(4, { view: { server: { executed } } }))
  expect((await get('graceful-master-takeover/shop/shop-4/3306')).body.Message).toContain(`errant GTID ${own}`)
  expect(done).toEqual([])
})

test('GracefulMasterTakeover: a managed cluster of one has nobody to hand over to', async () => {
  const { get, asked } = await orchestratorOver([knownShop({ shape: { instances: 1 } })])
  for (const path of ['graceful-master-takeover/shop', 'graceful-master-takeover-auto/shop'])
    expect((await get(path)).body.Message).toBe("Master shop-0:3306 doesn't seem to have replicas")
  expect(asked).toEqual([])
})
