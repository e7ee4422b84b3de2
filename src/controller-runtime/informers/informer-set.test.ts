import { pino } from 'pino'
import { expect, test } from 'vitest'
import { InformerSet } from './informer-set.ts'
import { labelValue } from './indexer.ts'
import { widgets } from '../testing-kinds.ts'
import { configMaps } from '../objects/config-map.ts'
import { ScriptedClient } from '../testing-kube-client.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'

function aSet(client: ScriptedClient): InformerSet {
  return new InformerSet({ client, world: virtualWorld(), logger: pino({ level: 'silent' }), namespaces: ['prod'] })
}

test('a kind is listed and watched once, whoever asks for it, in the set’s namespaces', async () => {
  const client = new ScriptedClient()
  const set = aSet(client)
  const first = set.of(configMaps, { indexes: { app: labelValue('app') } })
  expect(set.of(configMaps)).toBe(first)
  expect(() => set.of(configMaps, { labelSelector: 'app=shop' })).toThrow('configmaps exists already')
  const stop = new AbortController()
  const ended = set.run(stop.signal)
  await set.synced()
  expect(client.lists.map(({ namespace }) => namespace)).toEqual(['prod'])
  stop.abort(new Error('stop'))
  await ended
})

test('one that joins later starts at once and is waited for', async () => {
  const client = new ScriptedClient()
  const set = aSet(client)
  set.of(configMaps)
  const stop = new AbortController()
  const ended = set.run(stop.signal)
  await set.synced()
  set.of(widgets)
  expect([set.hasSynced(), set.unsynced()]).toEqual([false, ['widgets.example.org']])
  await set.synced()
  expect(set.hasSynced()).toBe(true)
  stop.abort(new Error('stop'))
  await ended
  expect(client.watches.every(({ options }) => options.signal?.aborted)).toBe(true)
})

test('waiting ends with its signal', async () => {
  const client = new ScriptedClient()
  client.before = () => new Promise(() => undefined)
  const set = aSet(client)
  set.of(configMaps)
  void set.run(new AbortController().signal)
  await expect(set.synced(AbortSignal.timeout(10))).rejects.toMatchObject({ name: 'TimeoutError' })
  expect(set.unsynced()).toEqual(['configmaps'])
})
