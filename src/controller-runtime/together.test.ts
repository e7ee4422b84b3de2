import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { watchFor, watchOwned } from './controller/controller-sources.ts'
import { Controller, type Reconcile, type ReconcileFailure } from './controller/controller.ts'
import { EventRecorder, events } from './events/event-recorder.ts'
import { addFinalizer, isDeleting, removeFinalizer } from './changes/finalizers.ts'
import { createKubeClient } from './client/http-kube-client.ts'
import { InformerSet } from './informers/informer-set.ts'
import { leaderClient } from './leader/leadership.ts'
import { LeaseElector } from './leader/lease-elector.ts'
import { leases } from './objects/lease.ts'
import { withController } from './objects/owner-references.ts'
import { generationChanged } from './controller/predicates.ts'
import { runAll, type LeaderRunnable } from './runnables/runnables.ts'
import { createRuntimeMetrics } from './controller/runtime-metrics.ts'
import { FakeApiServer } from './testing-api-server.ts'
import { configMap, widget, widgets } from './testing-kinds.ts'
import { configMaps } from './objects/config-map.ts'

/**
 * An operator as small as it gets, over HTTP and on the real clock: for each Widget a ConfigMap of its name, taken away
 * again before the Widget goes.
 */

const finalizer = 'example.org/config-map'
const key = { namespace: 'prod', name: 'shop' }
const lease = { namespace: 'prod', name: 'operator' }
const logger = pino({ level: 'silent' })
const registry = new Registry()
const metrics = createRuntimeMetrics(registry)
const failures: ReconcileFailure[] = []
const stop = new AbortController()
let server: FakeApiServer
let client: ReturnType<typeof createKubeClient>
let stopped: Promise<void>

beforeEach(async () => {
  server = await FakeApiServer.start()
  client = createKubeClient({
    connection: server.connection,
    world: realWorld,
    userAgent: 'operator/test',
    onRequest: (record) => metrics.requested(record),
  })
  const informers = new InformerSet({ client, world: realWorld, logger })
  const informerOfWidgets = informers.of(widgets)
  const sources = [watchFor(informerOfWidgets, generationChanged), watchOwned(informers.of(configMaps), widgets)]
  const recorder = new EventRecorder({
    client,
    world: realWorld,
    controller: 'example.org/operator',
    instance: 'operator-0',
    failed: (_happening, error) => expect.fail(String(error)),
  })

  const operator: LeaderRunnable = {
    name: 'widget',
    async run(signal, leadership) {
      const writer = leaderClient(client, leadership)
      const parts = { client: writer, world: realWorld }
      const reconcile: Reconcile = async (name) => {
        const found = informerOfWidgets.get(name)
        if (!found) return
        const target = { resource: widgets, key: name }
        if (isDeleting(found)) {
          if (await client.get(configMaps, name)) await writer.delete(configMaps, name)
          await removeFinalizer(parts, target, finalizer)
          return
        }
        const owner = await addFinalizer(parts, target, finalizer)
        if (!owner || (await client.get(configMaps, name))) return
        await writer.create(configMaps, withController(configMap(name.name), owner))
        recorder.record({
          regarding: owner,
          type: 'Normal',
          reason: 'Configured',
          action: 'Create',
          note: 'its ConfigMap was made',
        })
      }
      await new Controller({
        name: 'widget',
        sources,
        reconcile,
        world: realWorld,
        failed: (failure) => failures.push(failure),
        metrics,
      }).run(signal)
      await recorder.close(1_000)
    },
  }
  stopped = runAll(
    {
      groups: {
        informers: [
          { name: 'informers', run: (signal) => informers.run(signal), ready: (signal) => informers.synced(signal) },
        ],
        leaders: [operator],
      },
      election: new LeaseElector({ client, lease, identity: 'operator-0', world: realWorld, logger }),
      world: realWorld,
    },
    stop.signal,
  )
})

afterEach(async () => {
  stop.abort()
  await stopped
  await client.close()
  await server[Symbol.asyncDispose]()
})

it('What a Widget needs is made, made again when somebody deletes it, and cleaned up before the Widget goes; then the operator stops and leaves its lease', async () => {
  const soon = { timeout: 60_000, interval: 20 }
  const made = await client.create(widgets, widget('shop', { size: 3 }))
  const first = await vi.waitFor(
    async () => (await client.get(configMaps, key)) ?? expect.fail('no ConfigMap yet'),
    soon,
  )
  expect(first.metadata.ownerReferences).toMatchObject([
    { kind: 'Widget', name: 'shop', uid: made.metadata.uid, controller: true },
  ])

  await client.delete(configMaps, key)
  const second = await vi.waitFor(
    async () => (await client.get(configMaps, key)) ?? expect.fail('no ConfigMap again'),
    soon,
  )
  expect(second.metadata.uid).not.toBe(first.metadata.uid)

  await client.delete(widgets, key)
  await vi.waitFor(async () => expect(await client.get(widgets, key)).toBeUndefined(), soon)
  expect(await client.get(configMaps, key)).toBeUndefined()

  stop.abort()
  await stopped
  expect((await client.get(leases, lease))?.spec?.holderIdentity).toBe('')
  expect((await client.list(events)).items.map((event) => [event.regarding.name, event.series?.count])).toEqual([
    ['shop', 2],
  ])
  expect(failures).toEqual([])
  const text = await registry.metrics()
  expect(text).toMatch(/rest_client_requests_total\{code="201",method="POST",host="127\.0\.0\.1:\d+"\} \d/)
  expect(text).toMatch(/controller_runtime_reconcile_total\{controller="widget",result="success"\} [1-9]/)
})
