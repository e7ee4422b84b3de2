import { pino } from 'pino'
import { expect, it, onTestFinished, vi } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { watchFor, watchOwned } from '#controller-runtime/controller/controller-sources.ts'
import { Controller, type Reconcile } from '#controller-runtime/controller/controller.ts'
import { EventRecorder } from '#controller-runtime/events/event-recorder.ts'
import { addFinalizer, isDeleting, removeFinalizer } from '#controller-runtime/changes/finalizers.ts'
import { InformerSet } from '#controller-runtime/informers/informer-set.ts'
import { leaderClient } from '#controller-runtime/leader/leadership.ts'
import { LeaseElector } from '#controller-runtime/leader/lease-elector.ts'
import { leases } from '#controller-runtime/objects/lease.ts'
import { withController } from '#controller-runtime/objects/owner-references.ts'
import { generationChanged } from '#controller-runtime/controller/predicates.ts'
import { timingsFor } from '#controller-runtime/informers/reflector-timings.ts'
import { runAll, type LeaderRunnable } from '#controller-runtime/runnables/runnables.ts'
import { applyObject, applyStatus } from '#controller-runtime/changes/server-side-apply.ts'
import { configMaps, type ConfigMap } from '#controller-runtime/objects/config-map.ts'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { customResourceDefinitions } from './clients.ts'
import { onOwnApiServer } from './on-api-server.ts'

interface Gadget extends KubeObject {
  readonly spec: { readonly size: number }
  readonly status?: { readonly size?: number }
}

const gadgets: Resource<Gadget> = {
  group: 'example.org',
  version: 'v1',
  kind: 'Gadget',
  plural: 'gadgets',
  namespaced: true,
}
const finalizer = 'example.org/config-map'
const soon = { timeout: 30_000, interval: 20 }

function definition(): KubeObject {
  const integer = { type: 'object', properties: { size: { type: 'integer' } } }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: integer, status: integer } } }
  const spec = {
    group: 'example.org',
    scope: 'Namespaced',
    names: { kind: 'Gadget', plural: 'gadgets' },
    versions: [{ name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }],
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'gadgets.example.org' },
    spec,
  } as KubeObject
}

onOwnApiServer('An operator as small as it gets', (api) => {
  it('keeps what it made as it should be, also when the API server was away, and leaves in order', async () => {
    await api.client.create(customResourceDefinitions, definition())
    const key = { namespace: api.namespace, name: 'shop' }
    await vi.waitFor(() => api.client.list(gadgets), soon)
    const { client } = api
    const logger = pino({ level: 'silent' })
    const informers = new InformerSet({
      client,
      world: realWorld,
      logger,
      timings: {
        ...timingsFor(1),
        backoff: { ...timingsFor(1).backoff, firstMs: 50, longestMs: 500 },
      },
    })
    const ofGadgets = informers.of(gadgets)
    const sources = [watchFor(ofGadgets, generationChanged), watchOwned(informers.of(configMaps), gadgets)]
    const recorder = new EventRecorder({
      client,
      world: realWorld,
      controller: 'example.org/operator',
      instance: 'operator-0',
      failed: () => undefined,
    })
    const reconciled: string[] = []

    const operator: LeaderRunnable = {
      name: 'gadget',
      async run(signal, leadership) {
        const writer = leaderClient(client, leadership)
        const parts = { client: writer, world: realWorld }
        const reconcile: Reconcile = async (name) => {
          const found = ofGadgets.get(name)
          if (!found) return
          reconciled.push(name.name)
          const target = { resource: gadgets, key: name }
          if (isDeleting(found)) {
            if (await client.get(configMaps, name)) await writer.delete(configMaps, name)
            await removeFinalizer(parts, target, finalizer)
            return
          }
          const owner = await addFinalizer(parts, target, finalizer)
          if (!owner) return
          const { size } = owner.spec
          const wanted: ConfigMap = {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { ...name },
            data: { size: String(size) },
          }
          await applyObject(writer, configMaps, withController(wanted, owner), { fieldManager: 'operator' })
          await applyStatus(
            writer,
            gadgets,
            { apiVersion: 'example.org/v1', kind: 'Gadget', metadata: { ...name }, status: { size } },
            { fieldManager: 'operator' },
          )
          recorder.record({
            regarding: owner,
            type: 'Normal',
            reason: 'Configured',
            action: 'Apply',
            note: `its size is ${size}`,
          })
        }
        await new Controller({ name: 'gadget', sources, reconcile, world: realWorld, failed: () => undefined }).run(
          signal,
        )
        await recorder.close(1_000)
      },
    }
    const stop = new AbortController()
    const stopped = runAll(
      {
        groups: {
          informers: [
            { name: 'informers', run: (signal) => informers.run(signal), ready: (signal) => informers.synced(signal) },
          ],
          leaders: [operator],
        },
        election: new LeaseElector({
          client,
          lease: { namespace: api.namespace, name: 'operator' },
          identity: 'operator-0',
          world: realWorld,
          logger,
          durations: { leaseMs: 60_000, renewDeadlineMs: 50_000, retryMs: 500 },
        }),
        world: realWorld,
      },
      stop.signal,
    )
    onTestFinished(() => stop.abort())
    const sizeOf = async () => (await client.get(configMaps, key))?.data?.['size']
    const told = async () => (await client.get(gadgets, key))?.status?.size

    await client.create(gadgets, { apiVersion: 'example.org/v1', kind: 'Gadget', metadata: key, spec: { size: 3 } })
    await vi.waitFor(async () => expect([await sizeOf(), await told()]).toEqual(['3', 3]), soon)
    // A hand deletes it, then changes it.
    await client.delete(configMaps, key)
    await vi.waitFor(async () => expect(await sizeOf()).toBe('3'), soon)
    await client.patch(configMaps, key, { data: { size: '99' } })
    await vi.waitFor(async () => expect(await sizeOf()).toBe('3'), soon)
    // Its own status wakes it no more: generations only. What happens to another one afterwards is heard later.
    const other = { ...key, name: 'other' }
    const times = (name: string) => reconciled.filter((each) => each === name).length
    await client.create(gadgets, { apiVersion: 'example.org/v1', kind: 'Gadget', metadata: other, spec: { size: 1 } })
    await vi.waitFor(() => expect(times('other')).toBeGreaterThan(1), soon)
    const before = times('shop')
    await client.patch(gadgets, key, { status: { size: 7 } }, { subresource: 'status' })
    await client.patch(gadgets, other, { spec: { size: 2 } })
    await vi.waitFor(async () => expect((await client.get(configMaps, other))?.data?.['size']).toBe('2'), soon)
    expect(times('shop')).toBe(before)

    await api.server.kill('kube-apiserver')
    await api.server.begin('kube-apiserver')
    await client.patch(gadgets, key, { spec: { size: 5 } })
    await vi.waitFor(async () => expect([await sizeOf(), await told()]).toEqual(['5', 5]), soon)

    await client.delete(gadgets, key)
    await vi.waitFor(async () => expect(await client.get(gadgets, key)).toBeUndefined(), soon)
    expect(await client.get(configMaps, key)).toBeUndefined()
    stop.abort()
    await stopped
    expect((await client.get(leases, { namespace: api.namespace, name: 'operator' }))?.spec?.holderIdentity).toBe('')
  })
})
