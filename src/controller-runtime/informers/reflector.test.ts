import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import type { World } from '#common/ports/ports.ts'
import { KubeApiError } from '../client/kube-api-error.ts'
import { lastWritten, NamespaceBudget } from '../client/namespace-budget.ts'
import { Reflector, type ReflectorTarget } from './reflector.ts'
import { configMap } from '../testing-kinds.ts'
import { configMaps, type ConfigMap } from '../objects/config-map.ts'
import { ScriptedClient } from '../testing-kube-client.ts'
import { virtualWorld, type VirtualWorld } from '#common/ports/testing-world.ts'
import { say } from '#common/sentence/sentence.ts'

let clock: VirtualWorld
let client: ScriptedClient
let seen: string[]
let stop: AbortController
let ended: Promise<void>

const kind = 'v1/configmaps'
const expired = new KubeApiError(say`too old`, { status: 410, reason: 'Expired' })

/** Dice that always fall on `fraction`. */
function withDice(world: World, fraction: number): World {
  return {
    ...world,
    random: {
      ...world.random,
      hex: () =>
        Math.floor(fraction * 2 ** 32)
          .toString(16)
          .padStart(8, '0'),
    },
  }
}

function versioned(name: string, resourceVersion: string): ConfigMap {
  const object = configMap(name)
  return { ...object, metadata: { ...object.metadata, resourceVersion } }
}

async function start(fraction = 0): Promise<void> {
  const target: ReflectorTarget<ConfigMap> = {
    replace: (objects) => void seen.push(`all: ${objects.map(({ metadata }) => metadata.name).join(' ')}`),
    put: ({ metadata }) => void seen.push(`put ${metadata.name}`),
    remove: ({ metadata }) => void seen.push(`remove ${metadata.name}`),
  }
  ended = new Reflector({
    client,
    resource: configMaps,
    target,
    keep: (object) => object,
    budget: () => new NamespaceBudget({ bytesPerNamespace: Infinity, rank: lastWritten }),
    world: withDice(clock, fraction),
    logger: pino({ level: 'silent' }),
  }).run(stop.signal)
  await clock.settle()
}

beforeEach(() => {
  clock = virtualWorld()
  client = new ScriptedClient()
  seen = []
  stop = new AbortController()
})

async function stopped(): Promise<void> {
  stop.abort(new Error('stop'))
  await ended
}

describe('the first list', () => {
  test('asks for pages of 500 from the API server’s cache, and the watch begins where it ended', async () => {
    client.onList = (options) =>
      options.continue === undefined
        ? { items: [configMap('a')], resourceVersion: '7', continue: 'more' }
        : { items: [configMap('b')], resourceVersion: '7' }
    await start()
    expect(
      client.lists.map(({ limit, resourceVersion, continue: token }) => ({ limit, resourceVersion, token })),
    ).toEqual([
      { limit: 500, resourceVersion: '0', token: undefined },
      { limit: 500, resourceVersion: undefined, token: 'more' },
    ])
    expect(seen).toEqual(['all: a b'])
    expect(client.lastWatch.options.resourceVersion).toBe('7')
    await stopped()
  })

  test('whose page came too late is asked for again, all at once and as etcd has it', async () => {
    client.onList = (options) => {
      if (options.continue !== undefined) throw expired
      return options.limit === undefined
        ? { items: [configMap('a')], resourceVersion: '9' }
        : { items: [], resourceVersion: '7', continue: 'more' }
    }
    await start()
    await clock.advance(800)
    expect(client.lists.at(-1)).toMatchObject({ resourceVersion: '' })
    expect(seen).toEqual(['all: a'])
    await stopped()
  })

  test('that fails is tried again after 0.8, 1.6, 3.2 and so on up to 30 seconds, for ever', async () => {
    const atMs: number[] = []
    client.onList = () => {
      atMs.push(clock.clock.monotonicMs())
      throw new KubeApiError(say`no`, { status: 500 })
    }
    await start()
    await clock.advance(200_000)
    const waits = atMs.slice(1).map((at, index) => at - (atMs[index] ?? 0))
    expect(waits.slice(0, 8)).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000])
    expect(waits.slice(8).every((wait) => wait === 30_000)).toBe(true)
    await stopped()
  })

  test('waits are lengthened at random, up to twofold', async () => {
    client.onList = () => {
      throw new Error('no')
    }
    await start(0.5)
    await clock.advance(1_199)
    expect(client.lists).toHaveLength(1)
    await clock.advance(1)
    expect(client.lists).toHaveLength(2)
    await stopped()
  })
})

describe('a watch', () => {
  test('asks to be ended after 30 to 40 seconds, at random', async () => {
    await start(0)
    expect(client.lastWatch.options.timeoutSeconds).toBe(30)
    await stopped()
    stop = new AbortController()
    await start(0.999_999)
    expect(client.lastWatch.options.timeoutSeconds).toBe(40)
    await stopped()
  })

  test('tells changes in their order, and the next one begins after the last event or bookmark', async () => {
    await start()
    client.lastWatch.send('ADDED', versioned('a', '201'))
    client.lastWatch.send('MODIFIED', versioned('a', '202'))
    client.lastWatch.send('DELETED', versioned('a', '203'))
    await clock.advance(40_000)
    expect(seen).toEqual(['all: ', 'put a', 'put a', 'remove a'])
    client.lastWatch.end()
    await clock.settle()
    expect(client.lastWatch.options.resourceVersion).toBe('203')
    client.lastWatch.bookmark('900')
    client.lastWatch.fail(new Error('reset'))
    await clock.advance(800)
    expect(client.lastWatch.options.resourceVersion).toBe('900')
    expect(client.lists).toHaveLength(1)
    await stopped()
  })

  test('that lived long and ended is opened again at once: there is no blind window every few minutes', async () => {
    await start()
    await clock.advance(38_000)
    client.lastWatch.bookmark('101')
    await clock.advance(2_000)
    client.lastWatch.end()
    await clock.settle()
    expect(client.watches).toHaveLength(2)
    await stopped()
  })

  test('that is closed cleanly again and again is not opened in a tight loop', async () => {
    await start()
    for (let closed = 0; closed < 300; closed++) {
      if (client.watches.length > 0) client.lastWatch.end()
      await clock.advance(100)
    }
    // 0.8 + 1.6 + 3.2 + 6.4 + 12.8 s and what is left of the 30 s.
    expect(client.watches.length).toBeLessThanOrEqual(7)
    await stopped()
  })

  test.each([
    ['HTTP 500', new KubeApiError(say`no`, { status: 500 })],
    ['HTTP 403', new KubeApiError(say`no`, { status: 403 })],
    ['a connection reset', new Error('reset')],
    ['a garbage line', new SyntaxError('no JSON')],
  ])('survives %s a hundred times', async (_, error) => {
    await start()
    for (let failures = 0; failures < 100; failures++) {
      if (client.calls.at(-1) === 'watch') client.lastWatch.fail(error)
      await clock.advance(61_000)
    }
    const before = seen.length
    client.lastWatch.send('ADDED', versioned('a', '999'))
    await clock.settle()
    expect(seen.slice(before)).toEqual(['put a'])
    await stopped()
  })

  test('whose version is forgotten leads to a list of what etcd has now', async () => {
    await start()
    await clock.advance(60_000)
    client.state.create(kind, 'prod', { metadata: { name: 'new' } })
    client.lastWatch.fail(expired)
    await clock.settle()
    expect(client.lists.map(({ resourceVersion }) => resourceVersion)).toEqual(['0', ''])
    expect(seen).toEqual(['all: ', 'all: new'])
    expect(client.lastWatch.options.resourceVersion).toBe('101')
    await stopped()
  })

  test('that expires at once every time does not list in a tight loop', async () => {
    await start()
    for (let turn = 0; turn < 300; turn++) {
      client.lastWatch.fail(expired)
      await clock.advance(100)
    }
    expect(client.lists.length).toBeLessThanOrEqual(8)
    await stopped()
  })

  test('that brings nothing five times in a row leads to a list: a restored etcd may be behind its version', async () => {
    await start()
    for (const waitMs of [800, 1_600, 3_200, 6_400]) {
      client.lastWatch.fail(new KubeApiError(say`Too large resource version`, { status: 504 }))
      await clock.advance(waitMs)
    }
    expect([client.watches.length, client.lists.length]).toEqual([5, 1])
    client.lastWatch.fail(new KubeApiError(say`Too large resource version`, { status: 504 }))
    await clock.advance(12_800)
    expect(client.lists.map(({ resourceVersion }) => resourceVersion)).toEqual(['0', ''])
    await stopped()
  })

  test('that is silent for 45 seconds is dead, even where its stream never says so', async () => {
    await start()
    await clock.advance(44_000)
    client.lastWatch.bookmark('105')
    await clock.advance(44_999)
    expect(client.watches).toHaveLength(1)
    await clock.advance(1)
    expect(client.watches).toHaveLength(2)
    expect(client.watches[0]?.options.signal?.aborted).toBe(true)
    expect(client.lastWatch.options.resourceVersion).toBe('105')
    await stopped()
  })

  test('that never says a word, not even by a bookmark, leads to a list: behind a restored etcd the API server waits in silence', async () => {
    await start()
    await clock.advance(134_999)
    expect([client.lists.length, client.watches.length]).toEqual([1, 3])
    await clock.advance(1)
    expect(client.lists.map(({ resourceVersion }) => resourceVersion)).toEqual(['0', ''])
    expect(client.watches).toHaveLength(4)
    await stopped()
  })

  test('that the API server ends in time without a word is no death, and none that says so; after minutes it is mute', async () => {
    await start()
    const ended = async () => {
      await clock.advance(35_000)
      client.lastWatch.end()
      await clock.settle()
    }
    for (let watch = 0; watch < 3; watch++) await ended()
    expect([client.lists.length, client.watches.length]).toEqual([1, 4])
    await ended()
    expect(client.lists).toHaveLength(2)
    await stopped()
  })

  test('of a quiet cluster goes on for ever from bookmark to bookmark, with neither a list nor a wait', async () => {
    await start()
    for (let version = 200; version < 300; version++) {
      await clock.advance(33_000)
      client.lastWatch.bookmark(`${version}`)
      await clock.advance(2_000)
      client.lastWatch.end()
      await clock.settle()
      expect(client.lastWatch.options.resourceVersion).toBe(`${version}`)
    }
    expect([client.lists.length, client.watches.length]).toEqual([1, 101])
    await stopped()
  })

  test('after two quiet minutes the next failure is the first again', async () => {
    await start()
    for (let failures = 0; failures < 4; failures++) {
      client.lastWatch.fail(new Error('reset'))
      await clock.advance(13_000)
    }
    for (let bookmark = 0; bookmark < 4; bookmark++) {
      client.lastWatch.bookmark('105')
      await clock.advance(40_000)
    }
    client.lastWatch.end()
    await clock.settle()
    const before = client.watches.length
    client.lastWatch.fail(new Error('reset'))
    await clock.advance(799)
    expect(client.watches.length).toBe(before)
    await clock.advance(1)
    expect(client.watches.length).toBe(before + 1)
    await stopped()
  })
})

test('told to end in the middle of a wait or of a watch, it ends and leaves no timer', async () => {
  await start()
  await stopped()
  expect(clock.pending).toBe(0)
  stop = new AbortController()
  client.onList = () => {
    throw new Error('no')
  }
  await start()
  expect(clock.pending).toBe(1)
  await stopped()
  expect(clock.pending).toBe(0)
})

test('told to end in the middle of a list, it gives the list up', async () => {
  client.before = () => new Promise(() => undefined)
  await start()
  stop.abort(new Error('stop'))
  expect(client.lists[0]?.signal?.aborted).toBe(true)
})
