import { test, expect } from 'vitest'
import { gtids, uuidOf } from '#topology/testing.ts'
import {
  channel,
  heldAt as held,
  late,
  of,
  places,
  placesAt,
  refuses,
  treeOf,
  unseen,
  type Otherwise,
  type Refusal,
  type State,
} from './testing.ts'

/**
 * Each check by which orchestrator refuses to move a server, with the function that has the check there. Servers: a
 * root, one in the middle with two leaves, and another replica of the root.
 */
/** CanReplicateFrom, of shop-2 below shop-4. */
const fromOther: readonly (readonly [check: string, state: State, why: string])[] = [
  ['no binary logs', of(4, { server: { logBin: false } }), 'instance does not have binary logs enabled: shop-4:3306'],
  [
    'a replica without log_slave_updates',
    of(4, { server: { logReplicaUpdates: false } }),
    'instance does not have log_slave_updates enabled: shop-4:3306',
  ],
  [
    'a lower version',
    of(2, { view: { server: { version: '8.4.1' } } }),
    'instance shop-2:3306 has version 8.4.1, which is lower than 9.7.4 on shop-4:3306',
  ],
  [
    'a smaller binlog format',
    of(2, { server: { binlogFormat: 'MIXED' } }),
    'Cannot replicate from ROW binlog format on shop-4:3306 to MIXED on shop-2:3306',
  ],
  ['replication filters', of(4, channel({ filtered: true })), 'shop-4:3306 has replication filters'],
  [
    'the same server id',
    of(2, { server: { serverId: 5 } }),
    'Identical server id: shop-4:3306, shop-2:3306 both have 5',
  ],
  [
    'the same UUID',
    of(2, { view: { server: { uuid: uuidOf('shop-4') } } }),
    `Identical server UUID: shop-4:3306, shop-2:3306 both have ${uuidOf('shop-4')}`,
  ],
  [
    'a longer delay',
    of(4, { channel: { delaySeconds: 60 } }),
    'shop-4:3306 has higher SQL_Delay (60 seconds) than shop-2:3306 does (0 seconds)',
  ],
]

const below = 'relocate/shop-2/3306/shop-4/3306'

refuses('relocate', [
  [
    'RelocateBelow: the instance is not known',
    {},
    'relocate/nobody/3306/shop-4/3306',
    'Cannot read instance: nobody:3306',
  ],
  [
    'RelocateBelow: the other one is not known',
    {},
    'relocate/shop-2/3306/nobody/3306',
    'Cannot read instance: nobody:3306',
  ],
  [
    'RelocateBelow: the other one is a descendant',
    {},
    'relocate/shop-1/3306/shop-2/3306',
    'relocate: shop-2:3306 is a descendant of shop-1:3306',
  ],
  [
    'CanReplicateFrom: itself',
    {},
    'relocate/shop-2/3306/shop-2/3306',
    'shop-2:3306 cannot replicate from shop-2:3306. Reason: instance cannot replicate from itself: shop-2:3306',
  ],
  ...fromOther.map(([check, state, why]): Refusal => [
    `CanReplicateFrom: ${check}`,
    state,
    below,
    `shop-2:3306 cannot replicate from shop-4:3306. Reason: ${why}`,
  ]),
  ['CanMoveViaMatch: last check invalid', of(2, unseen), below, 'shop-2:3306: last check invalid'],
  ['CanMoveViaMatch: not recently checked', of(2, late), below, 'shop-2:3306: not recently checked'],
  ['ReadTopologyInstance: the other one does not answer', of(4, unseen), below, 'shop-4:3306: last check invalid'],
  [
    'CheckMoveViaGTID: purged',
    of(4, { view: { server: { purged: gtids('shop-3', 7) } } }),
    below,
    'Instance shop-4:3306 has purged GTID entries not found on shop-2:3306',
  ],
  [
    'relocateBelowInternal: no GTIDs, and neither a sibling nor a grandparent',
    placesAt(5),
    below,
    'Relocating shop-2:3306 below shop-4:3306 turns to be too complex; please do it manually',
  ],
  ['BeginMaintenance', { held: 2 }, below, held(2, 'move below shop-4:3306')],
  [
    'Repoint, where it is there already: the master has purged',
    of(1, { view: { server: { purged: gtids('shop-3', 7) } } }),
    'relocate/shop-2/3306/shop-1/3306',
    'Instance shop-1:3306 has purged GTID entries not found on shop-2:3306',
  ],
])

/** CanMove, of shop-2. */
const canMove: readonly (readonly [check: string, state: State, why: string])[] = [
  ['last check invalid', of(2, unseen), 'shop-2:3306: last check invalid'],
  ['not recently checked', of(2, late), 'shop-2:3306: not recently checked'],
  ['the SQL thread stands', of(2, channel({ sqlRunning: false })), 'shop-2:3306: instance is not replicating'],
  ['the IO thread stands', of(2, channel({ ioRunning: 'no' })), 'shop-2:3306: instance is not replicating'],
  ['the IO thread connects', of(2, channel({ ioRunning: 'connecting' })), 'shop-2:3306: instance is not replicating'],
  ['lags', of(2, channel({ lagSeconds: 21 })), 'shop-2:3306: lags too much'],
  [
    'lags beyond its delay',
    of(2, { ...channel({ lagSeconds: 81 }), channel: { delaySeconds: 60 } }),
    'shop-2:3306: lags too much',
  ],
]

const notTo = 'instance does not have log_slave_updates enabled: shop-1:3306'

refuses('move-up', [
  ['MoveUp: not a replica', {}, 'move-up/shop-0/3306', 'instance is not a replica: shop-0:3306'],
  ...canMove.map(([check, state, why]): Refusal => [`CanMove: ${check}`, state, 'move-up/shop-2/3306', why]),
  ['MoveUp: the master is no replica', {}, 'move-up/shop-1/3306', 'master is not a replica itself: shop-0:3306'],
  ['CanReplicateFrom: the master', of(1, { server: { logReplicaUpdates: false } }), 'move-up/shop-2/3306', notTo],
  [
    'GetInstanceMaster: the master does not answer',
    of(1, unseen),
    'move-up/shop-2/3306',
    'Cannot GetInstanceMaster() for shop-2:3306: shop-1:3306: last check invalid',
  ],
  ['BeginMaintenance: the instance', { held: 2 }, 'move-up/shop-2/3306', held(2, 'move up')],
  ['BeginMaintenance: the master', { held: 1 }, 'move-up/shop-2/3306', held(1, 'child shop-2:3306 moves up')],
])

const beside = 'move-below/shop-2/3306/shop-3/3306'
const ofSibling = (state: State): State => ({ servers: { 3: state.servers?.[2] ?? {} } })

refuses('move-below', [
  ...canMove.map(([check, state, why]): Refusal => [`CanMove: ${check}`, state, beside, why]),
  ...canMove.map(([check, state, why]): Refusal => [
    `CanMove of the sibling: ${check}`,
    ofSibling(state),
    beside,
    why.replace('shop-2', 'shop-3'),
  ]),
  [
    'MoveBelow: no siblings',
    {},
    'move-below/shop-2/3306/shop-4/3306',
    'instances are not siblings: shop-2:3306, shop-4:3306',
  ],
  [
    'MoveBelow: itself',
    {},
    'move-below/shop-2/3306/shop-2/3306',
    'instances are not siblings: shop-2:3306, shop-2:3306',
  ],
  [
    'CanReplicateFrom',
    of(3, { server: { logBin: false } }),
    beside,
    'instance does not have binary logs enabled: shop-3:3306',
  ],
  ['BeginMaintenance: the instance', { held: 2 }, beside, held(2, 'move below shop-3:3306')],
  ['BeginMaintenance: the sibling', { ...placesAt(5), held: 3 }, beside, held(3, 'shop-2:3306 moves below this')],
])

for (const path of ['move-below-gtid', 'move-gtid'])
  refuses(path, [
    [
      'CanMoveViaMatch: last check invalid',
      of(2, unseen),
      `${path}/shop-2/3306/shop-4/3306`,
      'shop-2:3306: last check invalid',
    ],
    [
      'CanMoveViaMatch: not recently checked',
      of(2, late),
      `${path}/shop-2/3306/shop-4/3306`,
      'shop-2:3306: not recently checked',
    ],
    [
      'ReadTopologyInstance: the other one',
      of(4, unseen),
      `${path}/shop-2/3306/shop-4/3306`,
      'shop-4:3306: last check invalid',
    ],
    ...fromOther.map(([check, state, why]): Refusal => [
      `CanReplicateFrom: ${check}`,
      state,
      `${path}/shop-2/3306/shop-4/3306`,
      why,
    ]),
    [
      'CheckMoveViaGTID: no GTIDs here',
      of(2, places),
      `${path}/shop-2/3306/shop-4/3306`,
      'Instances shop-2:3306, shop-4:3306 not GTID compatible or not using GTID',
    ],
    [
      'CheckMoveViaGTID: none there',
      of(4, places),
      `${path}/shop-2/3306/shop-4/3306`,
      'Instances shop-2:3306, shop-4:3306 not GTID compatible or not using GTID',
    ],
    [
      'CheckMoveViaGTID: purged',
      of(4, { view: { server: { purged: gtids('shop-3', 7) } } }),
      `${path}/shop-2/3306/shop-4/3306`,
      'Instance shop-4:3306 has purged GTID entries not found on shop-2:3306',
    ],
    [
      'not at orchestrator: it would make a ring',
      {},
      `${path}/shop-1/3306/shop-2/3306`,
      'relocate: shop-2:3306 is a descendant of shop-1:3306',
    ],
    ['BeginMaintenance', { held: 2 }, `${path}/shop-2/3306/shop-4/3306`, held(2, 'move below shop-4:3306')],
  ])

refuses('repoint', [
  ['Repoint: not a replica', {}, 'repoint/shop-0/3306/shop-1/3306', 'instance is not a replica: shop-0:3306'],
  ['ReadTopologyInstance', of(2, unseen), 'repoint/shop-2/3306/shop-1/3306', 'shop-2:3306: last check invalid'],
  ['ReadInstance: the master is not known', {}, 'repoint/shop-2/3306/nobody/3306', 'Cannot read instance: nobody:3306'],
  ...fromOther.map(([check, state, why]): Refusal => [
    `CanReplicateFrom: ${check}`,
    state,
    'repoint/shop-2/3306/shop-4/3306',
    why,
  ]),
  ['BeginMaintenance', { held: 2 }, 'repoint/shop-2/3306/shop-1/3306', held(2, 'repoint')],
  [
    'RepointTo: all of them',
    of(1, { server: { logBin: false } }),
    'repoint-replicas/shop-1/3306',
    'Error on all operations: instance does not have binary logs enabled: shop-1:3306; instance does not have binary logs enabled: shop-1:3306',
  ],
])

test('A master that does not answer is no reason against repoint, as at orchestrator', async () => {
  const { get, done } = await treeOf(of(1, unseen))
  expect((await get('repoint/shop-2/3306/shop-1/3306')).body.Code).toBe('OK')
  expect(done).toContain('follow shop-2')
})

test('Below a sibling that is a co-master and takes writes one goes as below a grandparent, as at orchestrator', async () => {
  const second: Otherwise = { ...places, view: { server: { readOnly: false } } }
  const { get, done } = await treeOf({ follows: [1, 0, 0], servers: { 0: places, 1: second, 2: places } })
  expect((await get('relocate/shop-2/3306/shop-1/3306')).body.Code).toBe('OK')
  expect(done.slice(0, 2)).toEqual(['stop shop-0', 'stop shop-2'])
})

test('A root needs no log_slave_updates, as at orchestrator', async () => {
  const { get } = await treeOf(of(0, { server: { logReplicaUpdates: false } }))
  expect((await get('relocate/shop-2/3306/shop-0/3306')).body.Code).toBe('OK')
})

refuses('take-master', [
  ['ReadTopologyInstance', of(2, unseen), 'take-master/shop-2/3306', 'shop-2:3306: last check invalid'],
  [
    'StopReplication: the master does not answer',
    of(1, unseen),
    'take-master/shop-2/3306',
    'shop-1:3306: last check invalid',
  ],
  [
    'TakeMaster: a co-master',
    { follows: [1, 0, 0] },
    'take-master/shop-2/3306',
    'shop-0:3306 is co-master. Cannot take it.',
  ],
  [
    'CanReplicateFrom: the master below the instance',
    of(2, { server: { logReplicaUpdates: false } }),
    'take-master/shop-2/3306',
    'instance does not have log_slave_updates enabled: shop-2:3306',
  ],
  [
    'StopReplication: the master is no replica',
    {},
    'take-master/shop-1/3306',
    'instance is not a replica: shop-0:3306',
  ],
])

const pair = 'make-co-master/shop-1/3306'
const ofFirst = (state: State): State => ({ servers: { 1: state.servers?.[2] ?? {} } })

refuses('make-co-master', [
  ...canMove.map(([check, state, why]): Refusal => [
    `CanMove: ${check}`,
    ofFirst(state),
    pair,
    why.replace('shop-2', 'shop-1'),
  ]),
  ['CanMoveAsCoMaster: last check invalid', of(0, unseen), pair, 'shop-0:3306: last check invalid'],
  ['CanMoveAsCoMaster: not recently checked', of(0, late), pair, 'shop-0:3306: not recently checked'],
  ['MakeCoMaster: it is one', { follows: [1, 0] }, pair, 'instance shop-1:3306 is already co master of shop-0:3306'],
  [
    'MakeCoMaster: it takes writes',
    of(1, { view: { server: { readOnly: false } } }),
    pair,
    'instance shop-1:3306 is not read-only; first make it read-only before making it co-master',
  ],
  [
    'MakeCoMaster: the other co-master takes writes',
    { follows: [1, 0, 0], servers: { 1: { view: { server: { readOnly: false } } } } },
    'make-co-master/shop-2/3306',
    'master shop-0:3306 is already co-master with shop-1:3306, and shop-1:3306 is alive, and not read-only; cowardly refusing to demote it. Please set it as read-only beforehand',
  ],
  [
    'MakeCoMaster: no real master',
    {},
    'make-co-master/shop-2/3306',
    'shop-1:3306 is not a real master; it replicates from: shop-0:3306',
  ],
  [
    'CanReplicateFrom: the master below the instance',
    of(1, { server: { logReplicaUpdates: false } }),
    pair,
    'instance does not have log_slave_updates enabled: shop-1:3306',
  ],
  ['BeginMaintenance: the instance', { held: 1 }, pair, held(1, 'make co-master of shop-0:3306')],
  ['BeginMaintenance: the master', { held: 0 }, pair, held(0, 'shop-1:3306 turns into co-master of this')],
])

const away: Otherwise = channel({ sourceHost: '//10.0.0.9', sourceUuid: '', ioRunning: 'connecting' })

test.each([
  ['a root that is detached', { follows: [null, 0], servers: { 0: away } }, pair],
  ['one whose co-master is lost', { follows: [1, 0, 0], servers: { 1: unseen } }, 'make-co-master/shop-2/3306'],
] as const)(
  'make-co-master of %s is done as at orchestrator, and what that has received stays',
  async (_, state, path) => {
    const { get, done } = await treeOf(state)
    expect((await get(path)).body.Code).toBe('OK')
    expect(done).toEqual(['drain shop-0', 'stop shop-0', 'follow shop-0', 'start shop-0'])
  },
)
