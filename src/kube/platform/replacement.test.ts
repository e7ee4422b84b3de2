import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { createKubeClient } from '#controller-runtime/client/http-kube-client.ts'
import { FakeApiServer } from '#controller-runtime/testing-api-server.ts'
import { commonLabels } from '../names/names.ts'
import { giveUp } from './replacement.ts'
import { pods, volumeClaims } from '../pods/stateful-set.ts'

const place = { namespace: 'shops', name: 'shop-2' }
const instance = { ...place, cluster: 'shop' }
const worn = { labels: commonLabels('shop') }
const claim = { namespace: 'shops', name: 'data-shop-2' }

let server: FakeApiServer
let client: ReturnType<typeof createKubeClient>
beforeEach(async () => {
  server = await FakeApiServer.start()
  client = createKubeClient({ connection: server.connection, world: realWorld, userAgent: 'regent/test' })
  // As it is while a pod uses it.
  await client.create(volumeClaims, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...claim, ...worn, finalizers: ['kubernetes.io/pvc-protection'] },
  })
  await client.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata: { ...place, ...worn } })
})
afterEach(async () => {
  await client.close()
  await server[Symbol.asyncDispose]()
})

const deletions = () =>
  server.requests
    .filter(({ method }) => method === 'DELETE')
    .map(({ path, body }) => [
      path.replace(/^.*\//, ''),
      (body as { gracePeriodSeconds?: number } | undefined)?.gracePeriodSeconds,
    ])

describe('an instance that is given up', () => {
  it('loses its claim before its pod, which ends in its own time', async () => {
    await giveUp(client, instance, false)
    expect(deletions()).toEqual([
      ['data-shop-2', undefined],
      ['shop-2', undefined],
    ])
    expect((await client.get(volumeClaims, claim))?.metadata.deletionTimestamp).toBeDefined()
    expect(await client.get(pods, place)).toBeUndefined()
  })

  it('is not waited for where nobody answers in its pod', async () => {
    await giveUp(client, instance, true)
    expect(deletions()).toEqual([
      ['data-shop-2', undefined],
      ['shop-2', 0],
    ])
  })

  it('may have lost its claim or its pod already', async () => {
    await client.delete(pods, instance)
    await giveUp(client, instance, true)
    expect((await client.get(volumeClaims, claim))?.metadata.deletionTimestamp).toBeDefined()
    await giveUp(client, { ...instance, name: 'shop-1' }, true)
  })

  it('keeps its pod where the claim may not be deleted', async () => {
    server.misbehave({
      when: ({ method, path }) => method === 'DELETE' && path.includes('persistentvolumeclaims'),
      answer: { status: 403, reason: 'Forbidden' },
    })
    await expect(giveUp(client, instance, true)).rejects.toMatchObject({ status: 403 })
    expect(await client.get(pods, place)).toBeDefined()
  })

  it('is said to be half-way where its pod may not be deleted', async () => {
    server.misbehave({
      when: ({ method, path }) => method === 'DELETE' && path.includes('pods'),
      answer: { status: 403, reason: 'Forbidden' },
    })
    await expect(giveUp(client, instance, true)).rejects.toThrow(
      /the claim of shop-2 goes with its pod, and the pod could not be deleted: .*Ask again/,
    )
  })
})
