import { describe, expect, test } from 'vitest'
import type { Instance } from '#orchestrator/documents/instance.ts'
import {
  detach,
  errantInject,
  errantReset,
  makeCoMaster,
  reattach,
  resetReplica,
  startReplica,
  stopNicely,
} from '#orchestrator/trees/changes.ts'
import {
  moveBelow,
  moveBelowByGtids,
  moveUp,
  relocate,
  relocateReplicas,
  repoint,
  takeMaster,
} from '#orchestrator/trees/moves.ts'
import { recoverCoMaster, recoverIntermediate } from '#orchestrator/trees/recoveries.ts'
import type { Planned, Step } from '#orchestrator/trees/step.ts'
import { gtids, uuidOf } from '#topology/testing.ts'
import type { LookOverrides } from '../watch/testing.ts'
import { documentsOf, ModelTree, wordsOf } from './testing.ts'

type Plan = (tree: readonly Instance[], one: Instance, other: Instance) => Planned

/** A root, one in the middle with two leaves, and another replica of the root. */
const cascade = [null, 0, 1, 1, 0] as const
const withoutGtids = {
  server: { gtidMode: 'OFF', executed: '' },
  channel: { autoPosition: false, received: '' },
} as const

function treeOf(
  follows: readonly (number | null)[],
  changes: Readonly<Record<number, LookOverrides>> = {},
  base: LookOverrides = {},
): readonly Instance[] {
  const looks = follows.map((source, at) => {
    const { server, channel, ...rest } = changes[at] ?? {}
    return {
      ...{ ...base, ...rest, follows: source },
      ...(server === null ? { server } : { server: { ...base.server, ...server } }),
      channel: { ...base.channel, ...channel },
    }
  })
  return documentsOf({ looks })
}

function planned(tree: readonly Instance[], plan: Plan, one: number, other = one): Planned {
  const [first, second] = [tree[one], tree[other]]
  if (first === undefined || second === undefined) throw new Error('there is no such server')
  return plan(tree, first, second)
}

const toWords = (result: Planned): string => ('why' in result ? `no: ${result.why}` : wordsOf(result.steps))

describe('What a plan refuses, in orchestrator’s words', () => {
  const dead: LookOverrides = { reach: 'refused' }
  const standing: LookOverrides = { channel: { sql: false, io: 'no' } }
  const rows: readonly (readonly [string, Plan, number, number, Record<number, LookOverrides>])[] = [
    ['relocate: shop-2:3306 is a descendant of shop-1:3306', relocate, 1, 2, {}],
    ['shop-2:3306: last check invalid', relocate, 2, 0, { 2: dead }],
    ['shop-4:3306: last check invalid', relocate, 2, 4, { 4: dead }],
    [
      'shop-2:3306 cannot replicate from shop-4:3306. Reason: instance does not have binary logs enabled: shop-4:3306',
      ...([relocate, 2, 4, { 4: { server: { logBin: false } } }] as const),
    ],
    [
      'shop-2:3306 cannot replicate from shop-4:3306. Reason: instance does not have log_slave_updates enabled: shop-4:3306',
      ...([relocate, 2, 4, { 4: { server: { logReplicaUpdates: false } } }] as const),
    ],
    [
      'shop-2:3306 cannot replicate from shop-4:3306. Reason: instance shop-2:3306 has version 8.4.1, which is lower than 9.7.4 on shop-4:3306',
      ...([relocate, 2, 4, { 2: { server: { version: '8.4.1' } } }] as const),
    ],
    [
      'shop-2:3306 cannot replicate from shop-4:3306. Reason: Cannot replicate from ROW binlog format on shop-4:3306 to STATEMENT on shop-2:3306',
      ...([relocate, 2, 4, { 2: { server: { binlogFormat: 'STATEMENT' } } }] as const),
    ],
    [
      'shop-2:3306 cannot replicate from shop-4:3306. Reason: shop-4:3306 has replication filters',
      ...([relocate, 2, 4, { 4: { channel: { filtered: true } } }] as const),
    ],
    [
      'shop-2:3306 cannot replicate from shop-4:3306. Reason: Identical server id: shop-4:3306, shop-2:3306 both have 5',
      ...([relocate, 2, 4, { 2: { server: { serverId: 5 } } }] as const),
    ],
    ['master is not a replica itself: shop-0:3306', moveUp, 1, 1, {}],
    ['instance is not a replica: shop-0:3306', moveUp, 0, 0, {}],
    ['shop-2:3306: instance is not replicating', moveUp, 2, 2, { 2: standing }],
    ['shop-2:3306: lags too much', moveUp, 2, 2, { 2: { channel: { lagSeconds: 21 } } }],
    ['instances are not siblings: shop-2:3306, shop-4:3306', moveBelow, 2, 4, {}],
    ['repoint: shop-2:3306 is a descendant of shop-1:3306', repoint, 1, 2, {}],
    ['instance is not a replica: shop-0:3306', takeMaster, 1, 1, {}],
    ['instance is not a replica: shop-0:3306', moveBelowByGtids, 0, 4, {}],
    [
      'instance shop-1:3306 is not read-only; first make it read-only before making it co-master',
      makeCoMaster,
      1,
      1,
      { 1: { server: { readOnly: false } } },
    ],
    ['shop-1:3306 is not a real master; it replicates from: shop-0:3306', makeCoMaster, 2, 2, {}],
    ['instance does not seem to be detached: shop-1:3306', reattach, 1, 1, {}],
    ['gtid-errant-reset-master will not operate on shop-2:3306 because no errant GTID is found', errantReset, 2, 2, {}],
    [
      'gtid-errant-inject-empty will not operate on shop-2:3306 because no errant GTID is found',
      errantInject,
      2,
      2,
      {},
    ],
    ['instance is not a replica: shop-0:3306', startReplica, 0, 0, {}],
  ]
  test.each(rows)('%s', (...[why, plan, one, other, changes]) => {
    expect(planned(treeOf(cascade, changes), plan, one, other)).toEqual({ why })
  })

  const errant = { server: { executed: `${gtids('shop-0', 100)},${uuidOf('shop-1')}:1` } }
  test('Errant transactions of one that has replicas stay, and never come to where clients write', () => {
    const tree = treeOf([null, 0, 1], { 1: errant })
    expect(toWords(planned(tree, errantReset, 1))).toMatch(/because it has 1 replicas. Expecting no replicas/)
    expect(toWords(planned(tree, makeCoMaster, 1))).toMatch(/has errant GTID .*:1, which shop-0:3306 would apply/)
    expect(planned(tree, errantInject, 1)).toEqual({
      steps: [{ do: 'inject', at: 'shop-0', gtids: `${uuidOf('shop-1')}:1` }],
    })
  })

  test('A master does not change places with a replica that could not send what it has: both would stand', () => {
    const tree = treeOf([null, 0, 1]).map((one, ordinal) =>
      ordinal === 2 ? { ...one, GtidPurged: `${uuidOf('shop-2')}:1` } : one,
    )
    expect(planned(tree, takeMaster, 2)).toEqual({
      why: 'Instance shop-2:3306 has purged GTID entries not found on shop-1:3306',
    })
  })

  test('Servers without GTIDs go one step, or are refused; MariaDB is never moved', () => {
    expect(toWords(planned(treeOf(cascade, {}, withoutGtids), relocate, 4, 2))).toBe(
      'no: Relocating shop-4:3306 below shop-2:3306 turns to be too complex; please do it manually',
    )
    expect(toWords(planned(treeOf(cascade, {}, withoutGtids), moveBelowByGtids, 2, 4))).toMatch(/not GTID compatible/)
    const mariadb = treeOf(cascade, {}, { server: { version: '10.11.19-MariaDB', gtidMode: 'none' } })
    expect(toWords(planned(mariadb, detach, 2))).toMatch(/is a MariaDB, whose GTIDs are not understood/)
  })
})

/** Each move, whom it moves, and who follows whom afterwards. */
const moves: readonly (readonly [string, Plan, number, number, string])[] = [
  ['relocate', relocate, 2, 0, 'shop-1<shop-0 shop-2<shop-0 shop-3<shop-1 shop-4<shop-0'],
  ['relocate beside', relocate, 2, 3, 'shop-1<shop-0 shop-2<shop-3 shop-3<shop-1 shop-4<shop-0'],
  ['move-up', moveUp, 2, 2, 'shop-1<shop-0 shop-2<shop-0 shop-3<shop-1 shop-4<shop-0'],
  ['move-below', moveBelow, 4, 1, 'shop-1<shop-0 shop-2<shop-1 shop-3<shop-1 shop-4<shop-1'],
  ['take-master', takeMaster, 2, 2, 'shop-1<shop-2 shop-2<shop-0 shop-3<shop-1 shop-4<shop-0'],
]

describe.each([
  ['by GTIDs', true, {}],
  ['by places', false, withoutGtids],
] as const)('A move %s', (_, byGtids, base) => {
  const steps = (plan: Plan, one: number, other: number): readonly Step[] => {
    const result = planned(treeOf(cascade, {}, base), plan, one, other)
    if ('why' in result) throw new Error(result.why)
    return result.steps
  }

  const begun = (): ModelTree => ModelTree.written(cascade, byGtids)
  const everybodyHasAll = (model: ModelTree): void => {
    model.replicate()
    for (const [at] of cascade.entries())
      expect([at, [...model.held(`shop-${at}`)].toSorted((a, b) => a - b)]).toEqual([at, [...model.held('shop-0')]])
  }

  test.each(moves)('%s loses nothing and applies nothing twice', (...[, plan, one, other, links]) => {
    const model = begun()
    for (const step of steps(plan, one, other)) {
      model.do(step)
      model.write('shop-0')
      model.replicate(2)
    }
    expect(model.links).toBe(links)
    everybodyHasAll(model)
  })

  test.each(moves)(
    '%s that ends after any step leaves servers that go on once they are started',
    (_, plan, one, other) => {
      const all = steps(plan, one, other)
      for (let done = 0; done <= all.length; done += 1) {
        const model = begun()
        for (const step of all.slice(0, done)) {
          model.do(step)
          model.write('shop-0')
          model.replicate(2)
        }
        for (const step of all) if (step.do === 'start') model.do(step)
        everybodyHasAll(model)
      }
    },
  )
})

describe('Recoveries that a person asks for', () => {
  const lost: LookOverrides = { reach: 'refused' }
  const connecting: LookOverrides = { channel: { io: 'connecting', ioError: 'error connecting to source' } }

  test('Replicas of one that is lost in the middle go below a sibling, else one step up', () => {
    const tree = treeOf(cascade, { 1: lost, 2: connecting, 3: connecting })
    const plan = recoverIntermediate(tree, tree[1] as Instance)
    expect(plan).toMatchObject({ successor: { InstanceAlias: 'shop-4' } })
    const alone = treeOf([null, 0, 1, 1], { 1: lost, 2: connecting, 3: connecting })
    const up = recoverIntermediate(alone, alone[1] as Instance)
    expect(up).toMatchObject({ successor: { InstanceAlias: 'shop-0' } })
    const places = treeOf(cascade, { 1: lost, 2: connecting, 3: connecting }, withoutGtids)
    expect(recoverIntermediate(places, places[1] as Instance)).toMatch(/too complex/)
  })

  test('One replica that nobody can take keeps none of the others from going on', () => {
    const behind = { ...connecting, server: { executed: gtids('shop-0', 10) } }
    const tree = treeOf(cascade, { 1: lost, 2: connecting, 3: behind }).map((one) => ({
      ...one,
      GtidPurged: gtids('shop-0', 50),
    }))
    expect(recoverIntermediate(tree, tree[1] as Instance)).toMatchObject({
      successor: { InstanceAlias: 'shop-4' },
      replicas: [
        { replica: { InstanceAlias: 'shop-2' }, planned: { steps: [{}, {}, {}] } },
        {
          replica: { InstanceAlias: 'shop-3' },
          planned: { why: 'Instance shop-4:3306 has purged GTID entries not found on shop-3:3306' },
        },
      ],
    })
  })

  test('A sibling that does not replicate takes nobody: there would come nothing', () => {
    for (const channel of [{ io: 'no' as const }, { sql: false }]) {
      const tree = treeOf(cascade, { 1: lost, 2: connecting, 3: connecting, 4: { channel } })
      expect(recoverIntermediate(tree, tree[1] as Instance)).toMatchObject({ successor: { InstanceAlias: 'shop-0' } })
    }
  })

  test('The other co-master leads alone and detached, unless somebody holds more', () => {
    const ring = [1, 0, 0] as const
    const tree = treeOf(ring, { 0: { ...lost, server: {} }, 1: connecting, 2: connecting })
    const plan = recoverCoMaster(tree, tree[0] as Instance)
    // What a replica has received and not applied yet goes with its relay logs once it follows somebody else.
    expect(typeof plan === 'string' ? plan : toWords(plan.first)).toBe(
      'drain 1, covers 1, absent 0, stop 1, follow 1, start 1, absent 0, readOnly 1',
    )
    expect(plan).toMatchObject({
      first: { steps: [{}, { do: 'covers', at: 'shop-1', with: 'shop-2' }, {}, {}, {}, {}, {}, {}] },
    })
    const ahead = { ...connecting, server: { executed: gtids('shop-0', 101) } }
    const other = treeOf(ring, { 0: lost, 1: connecting, 2: ahead })
    expect(recoverCoMaster(other, other[0] as Instance)).toMatch(/^shop-2:3306 holds what shop-1:3306 has not/)
  })
})

describe('What a replica has received, and nobody can send once more,', () => {
  const lost: LookOverrides = { reach: 'refused' }
  const cut = (changes: LookOverrides['channel'] = {}): LookOverrides => ({
    channel: { io: 'connecting', ioError: 'error connecting to source', ...changes },
  })
  const flat = [null, 0, 0] as const

  test.each([
    ['relocate', relocate, 'drain 1, stop 1, follow 1, start 1'],
    ['move-below-gtid', moveBelowByGtids, 'drain 1, stop 1, follow 1, start 1'],
    ['repoint', repoint, 'drain 1, stop 1, follow 1, start 1'],
  ] as const)('is applied before %s throws its relay logs away', (_, plan, words) => {
    expect(toWords(planned(treeOf(flat, { 0: lost, 1: cut(), 2: cut() }), plan, 1, 2))).toBe(words)
  })

  test('is applied before it is detached', () => {
    expect(toWords(planned(treeOf(flat, { 0: lost, 1: cut(), 2: cut() }), detach, 1))).toBe(
      'drain 1, stop 1, follow 1, start 1',
    )
  })

  test.each([{ delaySeconds: 600 }, { sql: false }])(
    'is held by the new source where that cannot be: %j',
    (channel) => {
      const tree = treeOf(flat, { 0: lost, 1: cut(channel), 2: cut() })
      expect(planned(tree, relocate, 1, 2)).toMatchObject({
        steps: [{ do: 'covers', at: 'shop-2', with: 'shop-1' }, { do: 'stop' }, { do: 'follow' }, { do: 'start' }],
      })
    },
  )

  test('stops nothing while somebody above answers, who has it', () => {
    const dead = { 1: lost, 2: cut(), 3: cut() }
    expect(toWords(planned(treeOf(cascade, dead), relocate, 2, 0))).toBe('stop 2, follow 2, start 2')
    expect(toWords(planned(treeOf(cascade), relocate, 2, 0))).toBe('stop 2, follow 2, start 2')
    // Of two co-masters the other one has perhaps not got what the lost one wrote.
    expect(toWords(planned(treeOf([1, 0, 0], { 0: lost, 1: cut(), 2: cut() }), relocate, 2, 1))).toBe(
      'drain 2, stop 2, follow 2, start 2',
    )
  })
})

test('A detached server is reattached where it was, and errant GTIDs go while it is detached', () => {
  const away = { channel: { sourceHost: '//10.0.0.2', sourceUuid: '' } }
  const tree = treeOf(cascade, { 2: away })
  expect(planned(tree, reattach, 2)).toMatchObject({
    steps: [{ do: 'stop' }, { do: 'follow', source: { host: '10.0.0.2', port: 3306 } }, { do: 'start' }],
  })
  expect(toWords(planned(tree, detach, 2))).toBe('no: instance already detached: shop-2:3306')
  const errant = { server: { executed: `${gtids('shop-0', 100)},${uuidOf('shop-2')}:1` } }
  const reset = planned(treeOf(cascade, { 2: errant }), errantReset, 2)
  expect(toWords(reset)).toBe('stop 2, follow 2, resetGtids 2, follow 2, start 2')
  expect(reset).toMatchObject({
    steps: [{}, { source: { host: expect.stringMatching(/^\/\//) as string } }, {}, {}, {}],
  })
  expect(toWords(planned(tree, resetReplica, 1))).toBe('stop 1, reset 1')
  expect(toWords(planned(tree, stopNicely, 1))).toBe('stopReceiving 1, drain 1, stop 1')
  expect(toWords(planned(tree, stopNicely, 0))).toBe('no: instance is not a replica: shop-0:3306')
})

test('Co-masters are made by the account of replication, and a replica beside them may follow either', () => {
  expect(planned(treeOf([null, 0]), makeCoMaster, 1)).toEqual({
    locks: [
      { at: 'shop-1', reason: 'make co-master of shop-0:3306' },
      { at: 'shop-0', reason: 'shop-1:3306 turns into co-master of this' },
    ],
    steps: [
      { do: 'follow', at: 'shop-0', source: { instance: 'shop-1' }, from: 'gtids', login: true },
      { do: 'start', at: 'shop-0' },
    ],
  })
  const ring = treeOf([1, 0, 0])
  expect(ring.map(({ IsCoMaster, ReplicationDepth }) => [IsCoMaster, ReplicationDepth])).toEqual([
    [true, 0],
    [true, 0],
    [false, 1],
  ])
  expect(toWords(planned(ring, makeCoMaster, 1))).toBe('no: instance shop-1:3306 is already co master of shop-0:3306')
  expect(toWords(planned(ring, relocate, 2, 1))).toBe('stop 2, follow 2, start 2')
  expect(toWords(planned(ring, takeMaster, 2))).toBe('no: shop-0:3306 is co-master. Cannot take it.')
  const [first, second] = ring
  const replicas = first && second ? relocateReplicas(ring, first, second) : []
  expect(replicas).toMatchObject([{ replica: { InstanceAlias: 'shop-2' } }])
})
