import { describe, expect, test } from 'vitest'
import type { Instance } from '#orchestrator/documents/instance.ts'
import { countLost, leadInstead, standStill, tryAgain, whyNobodyLeads } from '#orchestrator/trees/failover.ts'
import type { Change } from '#orchestrator/trees/step.ts'
import { designate, handOver, siblingsFirst } from '#orchestrator/trees/takeover.ts'
import { gtids, uuidOf } from '#topology/testing.ts'
import type { LookOverrides, Scene } from '../watch/testing.ts'
import { documentsOf, ModelTree, wordsOf } from './testing.ts'

const lostSource = { io: 'connecting', ioErrno: 2_003, ioError: 'error connecting to source' } as const

const treeOf = (looks: readonly LookOverrides[], more: Omit<Scene, 'looks'> = {}): readonly Instance[] =>
  documentsOf({ ...more, looks })

function seen(model: ModelTree, names: readonly string[], byGtids: boolean): readonly Instance[] {
  const text = (numbers: readonly number[]): string =>
    numbers.length === 0 ? '' : `${uuidOf('shop-0')}:${[...numbers].toSorted((a, b) => a - b).join(':')}`
  return treeOf(
    names.map((name) => {
      const { follows, applied, isAlive, isOpen } = model.state(name)
      const place = { file: 'binlog.000001', position: applied }
      const executed = byGtids ? text(model.held(name)) : ''
      const gone = follows !== null && !model.state(follows).isAlive
      return {
        ...(!isAlive && { reach: 'refused' as const }),
        follows: follows === null ? null : Number(follows.slice(5)),
        server: { executed, readOnly: !isOpen, gtidMode: byGtids ? 'ON' : 'OFF' },
        channel: {
          ...{ read: place, applied: place, autoPosition: byGtids, received: executed },
          ...(gone && lostSource),
        },
      }
    }),
  )
}

const at = (tree: readonly Instance[], ordinal: number): Instance => {
  const one = tree[ordinal]
  if (one === undefined) throw new Error(`there is no server ${ordinal}`)
  return one
}

const numbers = (all: readonly number[]): readonly number[] => [...new Set(all)].toSorted((a, b) => a - b)

/** A number of the same sequence each time. */
function draws(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

const seeds = Array.from({ length: 24 }, (_, seed) => seed)

describe.each([
  ['by GTIDs', true],
  ['by places', false],
] as const)('A root that is lost, %s', (_, byGtids) => {
  /** Clients write until the root dies. Replicas are behind by different amounts; another one dies perhaps. */
  const begun = (seed: number) => {
    const draw = draws(seed)
    const count = 3 + draw(5)
    const follows = Array.from({ length: count }, (__, one) => (one === 0 ? null : draw(Math.min(one, 3))))
    const names = follows.map((__, one) => `shop-${one}`)
    const model = new ModelTree(follows, byGtids)
    for (let write = 0; write < 9; write += 1) {
      model.write('shop-0')
      for (const name of names) if (draw(3) === 0) model.do({ do: draw(2) === 0 ? 'stop' : 'start', at: name })
      model.replicate(draw(3))
    }
    model.kill('shop-0')
    if (draw(3) === 0) model.kill(names[1 + draw(count - 1)] ?? '')
    for (const name of names.slice(1)) model.do({ do: 'start', at: name })
    const living = names.filter((name) => model.state(name).isAlive)
    return { model, names, living }
  }
  const planned = ({ model, names }: ReturnType<typeof begun>) => {
    const before = seen(model, names, byGtids)
    const still = standStill(before, at(before, 0))
    for (const step of still.steps) model.do(step)
    // What comes from those who live goes on.
    model.replicate()
    const tree = seen(model, names, byGtids)
    return { tree, still, plan: leadInstead(tree, at(tree, 0), { wanted: undefined, undo: still.undo }) }
  }

  test.each(seeds)('is followed by one that has everything anybody has (%i)', (seed) => {
    const all = begun(seed)
    const { model, living } = all
    const { plan } = planned(all)
    const everything = numbers(living.flatMap((name) => model.held(name)))
    if (typeof plan === 'string') {
      const able = living.filter((name) => byGtids || model.state(name).follows === 'shop-0')
      expect(able).toEqual([])
      return
    }
    for (const step of plan.steps) model.do(step)
    const { successor, lost } = plan
    expect(model.writable).toEqual([successor.InstanceAlias])
    if (byGtids) expect(numbers(model.held(successor.InstanceAlias))).toEqual(everything)
    if (byGtids) expect(lost).toEqual([])
    model.write(successor.InstanceAlias)
    model.replicate()
    const left = new Set(lost.map(({ InstanceAlias }) => InstanceAlias))
    const below = living.filter((name) => {
      for (let one: string | null = name; one !== null; one = model.state(one).follows)
        if (left.has(one) || !model.state(one).isAlive) return false
      return true
    })
    for (const name of below)
      expect([name, numbers(model.held(name))]).toEqual([name, numbers(model.held(successor.InstanceAlias))])
  })

  const possible = (all: ReturnType<typeof begun>) => {
    const { plan } = planned(all)
    if (typeof plan === 'string') throw new Error(plan)
    return { ...plan, turn: plan.steps.findIndex((step) => step.do === 'lead') }
  }

  /** A manager dies when so many steps are done, and the next one comes. */
  const endsAfter = (done: number, seed: number): void => {
    const all = begun(seed)
    const { model, living } = all
    const plan = possible(all)
    const everything = numbers(living.flatMap((name) => model.held(name)))
    for (const step of plan.steps.slice(0, done)) model.do(step)
    // All is undone, or from the one that leads on everything is done once more.
    for (const step of done > plan.turn ? plan.steps.slice(plan.turn) : plan.undo) model.do(step)
    expect(numbers(living.flatMap((name) => model.held(name)))).toEqual(everything)
    const again = done > plan.turn ? { ...plan, steps: [] } : possible(all)
    for (const step of again.steps) model.do(step)
    expect(model.writable).toEqual([again.successor.InstanceAlias])
    if (byGtids) expect(numbers(model.held(again.successor.InstanceAlias))).toEqual(everything)
  }

  test.each(seeds.slice(0, 8))('loses nothing where that ends before anybody leads, and begins again (%i)', (seed) => {
    const { plan } = planned(begun(seed))
    const steps = typeof plan === 'string' ? [] : plan.steps
    for (const [done] of [...steps, null].entries()) if (steps.length > 0) endsAfter(done, seed)
  })
})

describe('Who leads instead of a root that is lost', () => {
  const root: LookOverrides = { reach: 'refused', server: { executed: gtids('shop-0', 100) } }
  const has = (count: number, more: LookOverrides = {}): LookOverrides => ({
    ...more,
    server: { executed: gtids('shop-0', count), ...more.server },
    channel: { ...lostSource, received: gtids('shop-0', count), ...more.channel },
  })
  const plan = (looks: readonly LookOverrides[], hosts: Scene['hosts'] = {}, wanted?: number) => {
    const tree = treeOf(looks, { hosts })
    const lost = at(tree, 0)
    const whom = wanted === undefined ? undefined : at(tree, wanted)
    const why = whyNobodyLeads(tree, lost, whom)
    const planned = leadInstead(tree, lost, { wanted: whom, undo: [] })
    if (why !== undefined) expect(planned).toBe(why)
    return typeof planned === 'string' ? planned : `${planned.successor.InstanceAlias}: ${wordsOf(planned.steps)}`
  }

  const leaders: readonly (readonly [string, string, readonly LookOverrides[], Scene['hosts']?, number?])[] = [
    ['the one that holds most', 'shop-2: absent 0, lead 2, stop 1, follow 1, start 1', [root, has(98), has(100)]],
    [
      'the one that is preferred, with what the other one has',
      'shop-1: stop 1, follow 1, start 1, catchUp 1, absent 0, lead 1, stop 2, follow 2, start 2',
      [root, has(98), has(100)],
      { 1: { promotion: 'prefer' } },
    ],
    [
      'the one that was named, with what the other one has',
      'shop-1: stop 1, follow 1, start 1, catchUp 1, absent 0, lead 1, stop 2, follow 2, start 2',
      [root, has(98), has(100)],
      {},
      1,
    ],
    [
      'the most advanced one two tiers down, below one that is lost too',
      'shop-3: absent 0, lead 3, stop 1, follow 1, start 1',
      [root, has(97), has(100, { reach: 'refused' }), has(100, { follows: 2 })],
    ],
    [
      'the other one, where the most advanced one must not lead, after that gave all it has',
      'shop-1: stop 1, follow 1, start 1, catchUp 1, absent 0, lead 1, stop 3, follow 3, start 3',
      [root, has(97), has(100, { reach: 'refused' }), has(100, { follows: 2 })],
      { 3: { promotion: 'never' } },
    ],
    ['nobody who does not answer', 'No replicas found for shop-0:3306', [root, has(100, { reach: 'silent' })]],
    [
      'nobody who must not',
      'shop-1:3306 cannot be promoted due to promotion rule',
      [root, has(100)],
      { 1: { promotion: 'never' } },
    ],
    [
      'nobody without binlogs',
      'shop-1:3306: instance does not have binary logs enabled',
      [root, has(100, { server: { logBin: false } })],
    ],
    [
      'nobody who does not log what comes by replication',
      'shop-1:3306: instance does not have log_slave_updates enabled',
      [root, has(100, { server: { logReplicaUpdates: false } })],
    ],
    [
      'nobody newer than most others',
      'shop-2: absent 0, lead 2, stop 1, follow 1, start 1, stop 3, follow 3, start 3',
      [root, has(100, { server: { version: '9.8.0' } }), has(100), has(100)],
    ],
    [
      'nobody with a larger format than most others',
      'shop-2: absent 0, lead 2, stop 1, follow 1, start 1, stop 3, follow 3, start 3',
      [
        root,
        has(100),
        has(100, { server: { binlogFormat: 'MIXED' } }),
        has(100, { server: { binlogFormat: 'MIXED' } }),
      ],
    ],
    [
      'nobody that replicates a part',
      'shop-1:3306 has replication filters',
      [root, has(100, { channel: { filtered: true } })],
    ],
    [
      'nobody that does not apply what it has',
      'shop-1:3306: its SQL thread does not run',
      [root, has(100, { channel: { sql: false } })],
    ],
    [
      'nobody with errant transactions',
      `shop-1:3306 has errant GTID ${uuidOf('shop-1')}:1`,
      [root, has(100, { server: { executed: `${gtids('shop-0', 100)},${uuidOf('shop-1')}:1` } })],
    ],
    [
      'nobody that would get errant transactions with what it lacks',
      `shop-2:3306 holds what shop-1:3306 has not, and shop-1:3306 cannot get that: shop-2:3306 has errant GTID ${uuidOf('shop-2')}:1 beside: call gtid-errant-reset-master first`,
      [root, has(99), has(100, { server: { executed: `${gtids('shop-0', 100)},${uuidOf('shop-2')}:1` } })],
      {},
      1,
    ],
    [
      'nobody from elsewhere',
      'shop-2:3306 does not replicate from shop-0:3306, or does not answer',
      [root, has(100), has(100, { follows: null })],
      {},
      2,
    ],
  ]
  for (const [title, expected, looks, hosts, wanted] of leaders)
    test(title, () => {
      expect(plan(looks, hosts, wanted)).toBe(expected)
    })

  test('One that is delayed follows only where the new one covers what it has received', () => {
    const tree = treeOf([root, has(100), has(90)]).map((one, ordinal) => ({ ...one, SQLDelay: ordinal === 2 ? 60 : 0 }))
    const planned = leadInstead(tree, at(tree, 0), { wanted: undefined, undo: [] })
    expect(typeof planned === 'string' ? planned : wordsOf(planned.steps)).toBe(
      'absent 0, lead 1, covers 1, stop 2, follow 2, start 2',
    )
    expect(wordsOf(standStill(tree, at(tree, 0)).steps)).toBe('stopReceiving 1, stopReceiving 2, drain 1')
  })

  test('Receivers that have given up try again, those that somebody stopped do not', () => {
    const gaveUp = {
      io: 'no',
      ioError: `Error connecting to source 'repl@10.0.0.1:3306'. This was attempt 10/10`,
    } as const
    const stopped = { io: 'no', ioError: '', ioErrno: 0 } as const
    const tree = treeOf([root, has(100, { channel: gaveUp }), has(100, { channel: stopped }), has(100)])
    expect(wordsOf(tryAgain(tree, at(tree, 0)))).toBe('startReceiving 1')
    // One that died after it had given up can be asked nothing, and is not to hinder the others.
    const gone = treeOf([root, has(100, { channel: gaveUp }), has(100, { reach: 'refused', channel: gaveUp })])
    expect(wordsOf(tryAgain(gone, at(gone, 0)))).toBe('startReceiving 1')
  })

  test('One whose applier stands is left as it is: its relay logs would be thrown away', () => {
    const tree = treeOf([root, has(100), has(90, { channel: { sql: false } })])
    expect(leadInstead(tree, at(tree, 0), { wanted: undefined, undo: [] })).toMatchObject({
      successor: { InstanceAlias: 'shop-1' },
      lost: [{ InstanceAlias: 'shop-2' }],
    })
  })

  test('What is lost is counted', () => {
    const tree = treeOf([root, has(97), has(98)])
    expect(countLost(tree, at(tree, 0))).toBe(2)
    const unseen = treeOf([{ ...root, server: null }, has(97)])
    expect(countLost(unseen, at(unseen, 0))).toBeNull()
  })
})

describe('A root that hands over', () => {
  const chosen = (looks: readonly LookOverrides[], { hosts = {}, wanted, isAuto = true }: Designation = {}) => {
    const tree = treeOf(looks, { hosts })
    const one = designate(tree, at(tree, 0), { wanted: wanted === undefined ? undefined : at(tree, wanted), isAuto })
    return typeof one === 'string' ? one : one.InstanceAlias
  }
  interface Designation {
    readonly hosts?: Scene['hosts']
    readonly wanted?: number
    readonly isAuto?: boolean
  }

  const designated: readonly (readonly [string, readonly LookOverrides[], Designation?])[] = [
    ['shop-1', [{}, {}]],
    ['shop-1', [{}, {}], { isAuto: false }],
    ['shop-1', [{}, {}, {}]],
    ['shop-2', [{}, {}, {}], { hosts: { 2: { promotion: 'prefer' } } }],
    ['shop-2', [{}, {}, {}], { hosts: { 1: { promotion: 'never' } } }],
    ['shop-2', [{}, { channel: { lagSeconds: 30 } }, {}]],
    ['shop-2', [{}, { channel: { io: 'no' } }, {}]],
    ['shop-2', [{}, {}, {}], { wanted: 2, isAuto: false }],
    ["Master shop-0:3306 doesn't seem to have replicas", [{}]],
    [
      'GracefulMasterTakeover: target instance not indicated, auto=false, and master shop-0:3306 has 2 replicas. orchestrator cannot choose where to failover to. Aborting',
      [{}, {}, {}],
      { isAuto: false },
    ],
    [
      'GracefulMasterTakeover: no target instance indicated, failed to auto-detect candidate replica for master shop-0:3306. Aborting',
      [{}, {}, {}],
      { hosts: { 1: { promotion: 'never' }, 2: { promotion: 'never' } } },
    ],
    [
      'GracefulMasterTakeover: indicated designated instance shop-2:3306 must be directly replicating from the master shop-0:3306',
      [{}, {}, { follows: 1 }],
      { wanted: 2 },
    ],
    [
      'GracefulMasterTakeover: designated instance shop-1:3306 cannot be promoted due to promotion rule or it is explicitly ignored in PromotionIgnoreHostnameFilters configuration',
      [{}, {}],
      { hosts: { 1: { promotion: 'never' } } },
    ],
    [
      'Desginated instance shop-1:3306 seems to be lagging too much for this operation. Aborting.',
      [{}, { channel: { lagSeconds: 21 } }],
    ],
    ['GracefulMasterTakeover: shop-1:3306: instance is not replicating', [{}, { channel: { sql: false } }]],
    ['GracefulMasterTakeover: shop-0:3306: last check invalid', [{ reach: 'refused' }, {}]],
    [
      'GracefulMasterTakeover: shop-0:3306 has version 5.6.24 without super_read_only: accounts with SUPER would go on writing there',
      [{ server: { version: '5.6.24' } }, { server: { version: '5.6.24' } }],
    ],
    [
      `GracefulMasterTakeover: shop-1:3306 has errant GTID ${uuidOf('shop-1')}:1`,
      [{}, { server: { executed: `${gtids('shop-0', 100)},${uuidOf('shop-1')}:1` } }],
    ],
    [
      'GracefulMasterTakeover: instance shop-0:3306 has version 8.4.1, which is lower than 9.7.4 on shop-1:3306',
      [{ server: { version: '8.4.1' } }, {}],
    ],
  ]
  for (const [expected, looks, designation] of designated)
    test(expected, () => {
      expect(chosen(looks, designation)).toBe(expected)
    })

  test('One that cannot go below is in the way, unless it is in downtime', () => {
    const tree = treeOf([{}, {}, { server: { serverId: 2 } }])
    const successor = at(tree, 1)
    expect(handOver(tree, at(tree, 0), { successor, isAuto: true })).toBe(
      'Desginated instance shop-1:3306 cannot take over all of its siblings. Error: Identical server id: shop-1:3306, shop-2:3306 both have 2',
    )
    const excused = tree.map((one) => (one.InstanceAlias === 'shop-2' ? { ...one, IsDowntimed: true } : one))
    expect(handOver(excused, at(excused, 0), { successor: at(excused, 1), isAuto: true })).toMatchObject({
      lost: [{ InstanceAlias: 'shop-2' }],
    })
  })

  test('A root that is detached is so again where the handing over is undone', () => {
    const away = { sourceHost: '//10.0.0.9', sourceUuid: '', io: 'connecting' } as const
    const open = { readOnly: false, superReadOnly: false }
    const tree = treeOf([{ follows: 1, channel: away, server: open }, {}])
    const planned = handOver(tree, at(tree, 0), { successor: at(tree, 1), isAuto: true })
    expect(planned).toMatchObject({
      undo: [{}, {}, { do: 'follow', source: { host: '//10.0.0.9', port: 3306 } }, {}, {}],
    })
    expect(typeof planned === 'string' ? planned : wordsOf(planned.undo)).toBe(
      'readOnly 0, stop 0, follow 0, start 0, start 1',
    )
  })

  test('A source that waits for several acknowledgements is not bereft of its replicas first', () => {
    const places = { server: { gtidMode: 'OFF', executed: '', semiSyncSource: true }, channel: { autoPosition: false } }
    const tree = treeOf([places, places, places]).map((one) => ({ ...one, SemiSyncMasterWaitForReplicaCount: 2 }))
    expect(siblingsFirst(tree, at(tree, 0), at(tree, 1))).toMatch(/waits for 2 acknowledgements/)
  })

  test.each([
    ['by GTIDs', true, 'readOnly 0, catchUp 1, follow 0, lead 1, start 0, stop 2, follow 2, start 2'],
    ['by places', false, 'readOnly 0, stop 1, advance 1, follow 0, lead 1, start 0'],
  ] as const)(
    '%s loses no write, has never two that take writes, and can be undone until the end',
    (_, byGtids, steps) => {
      const names = ['shop-0', 'shop-1', 'shop-2', 'shop-3']
      const begun = () => {
        const model = ModelTree.written([null, 0, 0, 1], byGtids)
        const before = seen(model, names, byGtids)
        const first = siblingsFirst(before, at(before, 0), at(before, 1))
        if (typeof first === 'string') throw new Error(first)
        for (const { planned } of first) for (const step of 'steps' in planned ? planned.steps : []) model.do(step)
        const tree = seen(model, names, byGtids)
        const plan = handOver(tree, at(tree, 0), { successor: at(tree, 1), isAuto: true })
        if (typeof plan === 'string') throw new Error(plan)
        return { model, plan }
      }
      expect(wordsOf(begun().plan.steps)).toBe(steps)
      const run = (model: ModelTree, all: Change['steps']): void => {
        for (const step of all) {
          model.do(step)
          for (const name of names) model.write(name)
          expect(model.writable.length).toBeLessThan(2)
          model.replicate(1)
        }
      }
      for (let done = 0; done <= begun().plan.steps.length; done += 1) {
        const { model, plan } = begun()
        const turn = plan.steps.findIndex((step) => step.do === 'lead')
        run(model, plan.steps.slice(0, done))
        run(model, done > turn ? plan.steps.slice(turn) : plan.undo)
        const leads = done > turn ? 'shop-1' : 'shop-0'
        expect(model.writable).toEqual([leads])
        model.replicate()
        for (const name of names) expect([name, numbers(model.held(name))]).toEqual([name, numbers(model.held(leads))])
      }
    },
  )
})
