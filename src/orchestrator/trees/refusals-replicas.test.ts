import { expect, test } from 'vitest'
import { heldAt as held, of, placesAt, refuses, treeOf, unseen } from './testing.ts'

/** Each check by which orchestrator refuses to move the replicas of a server. */
const notTo = 'instance does not have log_slave_updates enabled: shop-1:3306'

refuses('move-up-replicas', [
  ['MoveUpReplicas: not a replica', {}, 'move-up-replicas/shop-0/3306', 'instance is not a replica: shop-0:3306'],
  ['ReadTopologyInstance', of(1, unseen), 'move-up-replicas/shop-1/3306', 'shop-1:3306: last check invalid'],
  [
    'GetInstanceMaster: who would be above does not answer',
    of(0, unseen),
    'move-up-replicas/shop-1/3306',
    'Cannot GetInstanceMaster() for shop-1:3306: shop-0:3306: last check invalid',
  ],
  [
    'CanReplicateFrom: all of them',
    of(1, { server: { logReplicaUpdates: false } }),
    'move-up-replicas/shop-1/3306',
    `Error on all operations: ${notTo}; ${notTo}`,
  ],
  [
    'BeginMaintenance: the instance',
    { held: 1 },
    'move-up-replicas/shop-1/3306',
    `Error on all operations: ${held(1, 'child shop-2:3306 moves up')}; ${held(1, 'child shop-3:3306 moves up')}`,
  ],
])

refuses('move-replicas-gtid', [
  [
    'CheckMoveViaGTID: none has GTIDs, though places would do',
    { follows: [null, 0, 0, 0], ...placesAt(4) },
    'move-replicas-gtid/shop-0/3306/shop-1/3306',
    'Error on all operations: Instances shop-2:3306, shop-1:3306 not GTID compatible or not using GTID; Instances shop-3:3306, shop-1:3306 not GTID compatible or not using GTID',
  ],
])

const all = 'relocate-replicas/shop-1/3306'

refuses('relocate-replicas and take-siblings', [
  [
    'RelocateReplicas: the instance is not known',
    {},
    'relocate-replicas/nobody/3306/shop-4/3306',
    'Cannot read instance: nobody:3306',
  ],
  ['RelocateReplicas: the other one is not known', {}, `${all}/nobody/3306`, 'Cannot read instance: nobody:3306'],
  [
    'RelocateReplicas: below a descendant',
    {},
    'relocate-replicas/shop-0/3306/shop-2/3306',
    'relocate-replicas: shop-2:3306 is a descendant of shop-1:3306',
  ],
  [
    'relocateReplicasInternal: none can be moved',
    of(4, { server: { logBin: false } }),
    `${all}/shop-4/3306`,
    /^Error on all operations: shop-2:3306 cannot replicate from shop-4:3306\. Reason: instance does not have binary logs enabled: shop-4:3306; shop-3:3306/,
  ],
  [
    'relocateReplicasInternal: no GTIDs, and neither siblings nor a grandparent',
    placesAt(5),
    `${all}/shop-4/3306`,
    /^Error on all operations: Relocating shop-2:3306 below shop-4:3306 turns to be too complex/,
  ],
  [
    'TakeSiblings: not a replica',
    {},
    'take-siblings/shop-0/3306',
    'take-siblings: instance shop-0:3306 is not a replica.',
  ],
  [
    'TakeSiblings: none can be moved',
    of(1, { server: { logBin: false } }),
    'take-siblings/shop-1/3306',
    /^Error on all operations: shop-4:3306 cannot replicate from shop-1:3306\./,
  ],
])

const onlyOne = of(3, { server: { serverId: 5 } })
const notThird = 'Identical server id: shop-4:3306, shop-3:3306 both have 5'

test.each([
  [
    'relocateReplicasInternal',
    onlyOne,
    'relocate-replicas/shop-1/3306/shop-4/3306',
    `Relocated 1 replicas of shop-1:3306 below shop-4:3306; 1 errors: [shop-3:3306 cannot replicate from shop-4:3306. Reason: ${notThird}]`,
  ],
  [
    'MoveReplicasGTID',
    onlyOne,
    'move-replicas-gtid/shop-1/3306/shop-4/3306',
    `Moved 1 replicas of shop-1:3306 below shop-4:3306 via GTID; 1 errors: [${notThird}]`,
  ],
  [
    'TakeSiblings',
    { follows: [null, 0, 0, 0], servers: { 3: { server: { serverId: 2 } } } },
    'take-siblings/shop-1/3306',
    'Took 1 siblings of shop-1:3306; 1 errors: [shop-3:3306 cannot replicate from shop-1:3306. Reason: Identical server id: shop-1:3306, shop-3:3306 both have 2]',
  ],
] as const)('%s: an error where only some could be moved', async (_, state, path, says) => {
  const { get, done } = await treeOf(state)
  expect(await get(path)).toMatchObject({ status: 500, body: { Code: 'ERROR', Message: says, Details: null } })
  expect(done.filter((step) => step.startsWith('follow'))).toHaveLength(1)
})

test.each([
  ['MoveUpReplicas', 'move-up-replicas/shop-1/3306', 'Moved up 1 replicas of shop-1:3306; 1 errors'],
  ['RepointTo', 'repoint-replicas/shop-1/3306', 'Repointed 1 replicas of shop-1:3306; 1 errors'],
])('%s: no error where only some could be moved', async (_, path, says) => {
  const { get } = await treeOf(of(3, { server: { serverId: 2 } }))
  expect((await get(path)).body).toMatchObject({ Code: 'OK', Message: expect.stringContaining(says) as string })
})
