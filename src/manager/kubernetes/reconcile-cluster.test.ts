import { expect, it, onTestFinished, vi } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { say } from '#common/sentence/sentence.ts'
import { KubeApiError } from '#controller-runtime/client/kube-api-error.ts'
import { createKubeClient } from '#controller-runtime/client/http-kube-client.ts'
import { FakeApiServer } from '#controller-runtime/testing-api-server.ts'
import { mysqlClusters } from '#kube/spec/mysql-cluster.ts'
import { aCluster } from '#kube/testing.ts'
import { aManager } from '#test/kube/reconciling.ts'
import { TemplateKeeper } from './objects/keep-template.ts'
import { reconcileCluster, type ReconcileClusterParts } from './reconcile-cluster.ts'

const key = { namespace: 'shops', name: 'shop' }

/** The cluster `shop`, whose objects a manager has made. */
async function made() {
  const server = await FakeApiServer.start()
  const client = createKubeClient({ connection: server.connection, world: realWorld, userAgent: 'regent/test' })
  onTestFinished(async () => (await client.close(), server[Symbol.asyncDispose]()))
  const manager = () => {
    const one = aManager(client, key.namespace)
    onTestFinished(() => one.close())
    return one
  }
  await client.create(mysqlClusters, aCluster({ image: 'mysql:9.7.4' }))
  const first = manager()
  await first.reconcile()
  return { client, first, manager }
}

it('a pause is followed, and its end, while the rest of the spec cannot be brought about', async () => {
  const { client, first, manager } = await made()
  await first.close()
  const { loopIs, tries } = await refusedFor(manager(), client)
  for (const paused of [true, false]) {
    await client.patch(mysqlClusters, key, { spec: { paused } })
    await tries()
    expect(loopIs()?.notes.paused?.by).toBe(paused ? 'resource' : undefined)
  }
})

it('a pause of a person stays beside one of the resource, whose end does not end that of the person', async () => {
  const { client, first } = await made()
  const managed = () => first.set.get(key)
  await vi.waitFor(() => expect(managed()?.loop.leads).toBe(true), { timeout: 10_000 })
  const paused = { reason: 'a repair by hand', wallMs: 1, by: 'person' } as const
  await managed()?.loop.changeNotes((notes) => ({ ...notes, paused }))
  for (const isPaused of [true, false]) {
    await client.patch(mysqlClusters, key, { spec: { paused: isPaused } })
    await first.reconcile()
    expect([managed()?.loop.notes.paused, managed()?.isPausedByResource]).toEqual([paused, isPaused])
  }
})

it('of a cluster that is gone no pod template is remembered', async () => {
  const forget = vi.spyOn(TemplateKeeper.prototype, 'forget')
  onTestFinished(() => forget.mockRestore())
  const { client, first } = await made()
  expect(forget).not.toHaveBeenCalled()
  await client.delete(mysqlClusters, key)
  await first.reconcile(1)
  expect(forget.mock.calls).toEqual([[key]])
})

it('What an API server without time keeps from a cluster is told once that has lasted for a minute', async () => {
  let [nowMs, failure]: [number, KubeApiError | null] = [0, null]
  const cluster = aCluster({})
  const told: string[] = []
  const failing = async () => {
    if (failure !== null) throw failure
    return undefined
  }
  const parts = {
    client: { get: failing },
    clock: { wallMs: () => 0, monotonicMs: () => nowMs },
    clusters: { get: () => cluster },
    set: { of: () => undefined, progress: { stuck: () => undefined } },
    leads: () => true,
    events: { refused: (_: object, trouble: string) => void told.push(trouble) },
    applied: () => undefined,
  } as unknown as ReconcileClusterParts
  const reconcile = reconcileCluster(parts)
  const tried = async (atMs: number, status: number) => {
    nowMs = atMs
    failure = new KubeApiError(say`too many requests`, { status })
    await expect(reconcile({ namespace: 'shops', name: 'shop' }, new AbortController().signal)).rejects.toBe(failure)
  }
  for (const atMs of [0, 59_999]) await tried(atMs, 429)
  expect(told).toEqual([])
  await tried(60_000, 503)
  expect(told).toEqual(['too many requests'])
})

/** A manager that begins beside a spec for which it changes no pod. */
async function refusedFor(next: ReturnType<typeof aManager>, client: Awaited<ReturnType<typeof made>>['client']) {
  const env = [{ name: 'X', valueFrom: { secretKeyRef: { name: 'nowhere', key: 'x' } } }]
  await client.patch(mysqlClusters, key, { spec: { pod: { env } } })
  const tries = () => expect(next.reconcile()).rejects.toThrow(/Secret shops\/nowhere is not there/)
  const loopIs = () => next.set.get(key)?.loop
  await tries()
  await vi.waitFor(() => expect(loopIs()?.leads).toBe(true), { timeout: 10_000 })
  return { tries, loopIs }
}
