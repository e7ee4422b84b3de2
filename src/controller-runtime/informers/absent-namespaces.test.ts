import { pino } from 'pino'
import { beforeEach, expect, test } from 'vitest'
import { virtualWorld, type VirtualWorld } from '#common/ports/testing-world.ts'
import { KubeApiError } from '../client/kube-api-error.ts'
import { configMaps } from '../objects/config-map.ts'
import type { KubeObject } from '../objects/objects.ts'
import { ScriptedClient } from '../testing-kube-client.ts'
import { widgets } from '../testing-kinds.ts'
import { AbsentNamespaces } from './absent-namespaces.ts'
import { InformerSet } from './informer-set.ts'
import { say } from '#common/sentence/sentence.ts'

let world: VirtualWorld
let client: ScriptedClient
let said: string[]
/** Where a list of each kind is refused. */
let refused: Set<string>
const stop = { now: new AbortController() }

beforeEach(() => {
  world = virtualWorld()
  client = new ScriptedClient()
  said = []
  refused = new Set()
  stop.now = new AbortController()
  const list = client.list.bind(client)
  client.list = async (resource, options = {}) => {
    if (refused.has(options.namespace ?? '') || refused.has(`${options.namespace} ${resource.plural}`))
      throw new KubeApiError(say`forbidden`, { status: 403 })
    return list(resource, options)
  }
})

const make = (name: string, more: object = {}) =>
  client.state.create('v1/namespaces', '', { metadata: { name, ...more } })

function begin(namespaces = ['shops', 'carts']) {
  const write = (line: string): void => {
    const { msg } = JSON.parse(line) as { readonly msg: string }
    if (msg.startsWith('namespace ')) said.push(msg)
  }
  const logger = pino({ level: 'info' }, { write })
  const absence = new AbsentNamespaces({ client, timers: world.timers, logger })
  const set = new InformerSet({ client, world, logger, namespaces, absence, resyncMs: 0 })
  const maps = set.of(configMaps)
  const others = set.of(widgets)
  void set.run(stop.now.signal)
  void absence.run(stop.now.signal)
  return { set, maps, others }
}

const names = (objects: readonly KubeObject[]) => objects.map(({ metadata }) => metadata.name)
const map = (name: string) => ({ metadata: { name } })

test('a namespace that is not there holds up nobody, is named, and is taken up when it appears', async () => {
  make('shops')
  refused.add('carts')
  client.state.create('v1/configmaps', 'shops', map('a'))
  const { set, maps } = begin()
  await world.settle()
  expect([set.hasSynced(), names(maps.list())]).toEqual([true, ['a']])
  await set.synced()
  expect(said).toEqual([
    'namespace carts, which is to be watched, is not there: nothing in it is looked at until it is made, and all others are watched',
  ])
  expect(client.lists.filter(({ namespace }) => namespace === 'carts')).toEqual([])
  await world.advance(60_000)
  expect(said, 'once').toHaveLength(1)
  make('carts')
  refused.delete('carts')
  client.state.create('v1/configmaps', 'carts', map('b'))
  await world.advance(10_000)
  expect(names(maps.list())).toEqual(['a', 'b'])
  expect(said.at(-1)).toBe('namespace carts is there, and is watched from now on')
  stop.now.abort(new Error('stop'))
  await world.settle()
  expect(world.pending).toBe(0)
})

test('its kinds come all together, though its Role comes late and in parts', async () => {
  make('shops')
  const { set, maps, others } = begin()
  await world.settle()
  refused = new Set(['carts'])
  make('carts')
  client.state.create('v1/configmaps', 'carts', map('a'))
  client.state.create('example.org/v1/widgets', 'carts', { metadata: { name: 'w' } })
  await world.advance(20_000)
  refused = new Set(['carts widgets'])
  await world.advance(60_000)
  expect([set.hasSynced(), names(maps.list()), names(others.list())]).toEqual([true, [], []])
  refused.clear()
  await world.advance(60_000)
  expect([names(maps.list()), names(others.list())]).toEqual([['a'], ['w']])
  stop.now.abort(new Error('stop'))
})

test('one that is being deleted is absent, and the next one of its name is not', async () => {
  make('shops')
  make('carts', { deletionTimestamp: '2026-11-28T00:00:00Z' })
  refused.add('carts')
  const { set } = begin()
  await world.settle()
  expect(set.hasSynced()).toBe(true)
  expect(said[0]).toContain('namespace carts, which is to be watched, is being deleted: ')
  stop.now.abort(new Error('stop'))
})

test('where nobody may look the first list is waited for, as before', async () => {
  client.get = () => Promise.reject(new KubeApiError(say`forbidden`, { status: 403 }))
  refused.add('carts')
  const { set } = begin()
  await world.settle()
  expect(set.unsynced()).toEqual(['configmaps', 'widgets.example.org'])
  refused.clear()
  await world.advance(2_000)
  expect(set.hasSynced()).toBe(true)
  stop.now.abort(new Error('stop'))
})

test('a list that is refused in a namespace that is there is no absence', async () => {
  make('shops')
  make('carts')
  refused.add('carts')
  const { set } = begin()
  await world.settle()
  expect(set.hasSynced()).toBe(false)
  stop.now.abort(new Error('stop'))
})
