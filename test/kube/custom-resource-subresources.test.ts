import { expect, it } from 'vitest'
import { applyStatus } from '#controller-runtime/changes/server-side-apply.ts'
import { mysqlClusters } from '#kube/spec/mysql-cluster.ts'
import { ask } from './clients.ts'
import { onApiServer } from './on-api-server.ts'
import { manifest, smallest } from './smallest-cluster.ts'

onApiServer('The scale subresource', (api) => {
  const key = () => ({ namespace: api.namespace, name: 'shop' })
  const scale = (replicas: number) =>
    api.client.patch(mysqlClusters, key(), { spec: { replicas } }, { subresource: 'scale' })

  it('says how many instances are wanted and exist, and which pods they are', async () => {
    await api.client.create(mysqlClusters, manifest(api.namespace, smallest))
    await api.client.patch(
      mysqlClusters,
      key(),
      { status: { replicas: 2, selector: 'regent.dev/cluster=shop' } },
      { subresource: 'status' },
    )
    const { body } = await ask(api.access, {
      path: `/apis/regent.dev/v1alpha1/namespaces/${api.namespace}/mysqlclusters/shop/scale`,
    })
    expect(body).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 3 },
      status: { replicas: 2, selector: 'regent.dev/cluster=shop' },
    })
  })

  it('changes the number of instances, within what the cluster allows', async () => {
    await api.client.create(mysqlClusters, manifest(api.namespace, { ...smallest, acks: 2 }))
    await scale(5)
    expect(await api.client.get(mysqlClusters, key())).toMatchObject({
      spec: { instances: 5 },
      metadata: { generation: 2 },
    })
    await expect(scale(2)).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining('acks counts replicas') as string,
    })
    await expect(scale(17)).rejects.toMatchObject({ status: 422 })
    await expect(scale(0)).rejects.toMatchObject({ status: 422 })
    expect((await api.client.get(mysqlClusters, key()))?.spec.instances).toBe(5)
  })
})

onApiServer('The status subresource', (api) => {
  const key = () => ({ namespace: api.namespace, name: 'shop' })
  const setStatus = (status: unknown) => api.client.patch(mysqlClusters, key(), { status }, { subresource: 'status' })
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'Ready',
    message: 'all take part',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    observedGeneration: 1,
  }

  it('takes everything that Regent says of a cluster, and raises no generation by it', async () => {
    const made = await api.client.create(mysqlClusters, manifest(api.namespace, smallest))
    const instance = {
      name: 'shop-0',
      role: 'primary',
      node: 'n1',
      version: '9.7.4',
      executed: 'a:1-5',
      lagSeconds: null,
      inSyncSet: false,
      member: 'ONLINE',
      problems: [{ code: 'NotReplicating', sentence: 'replica shop-1 does not replicate' }],
    }
    const status = {
      ...{
        observedGeneration: 1,
        conditions: [ready],
        primary: 'shop-0',
        epoch: 1,
        revision: 3,
        syncSet: ['shop-1'],
        acks: 1,
        sentence: 'no action',
        replicas: 3,
        ready: 3,
      },
      group: {
        ...{ summary: '2 of 2 ONLINE, none may be lost', name: 'g', condition: 'online', viewId: '17:5' },
        ...{ online: 2, expected: 2, mayBeLost: 0 },
      },
      instances: [instance, { ...instance, name: 'shop-1', role: 'replica', lagSeconds: 0.25, inSyncSet: true }],
      selector: 'regent.dev/cluster=shop',
      binding: { name: 'shop-client' },
    }
    // As Regent says it: a merge patch has no null of its own.
    const told = await applyStatus(
      api.client,
      mysqlClusters,
      { ...manifest(api.namespace, smallest), status },
      { fieldManager: 'regent' },
    )
    expect(told.status).toEqual(status)
    expect(told.metadata.generation).toBe(made.metadata.generation)
    expect(told.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion)
  })

  it('takes what a manager of the version before says, which may lead while an upgrade rolls, and lets it go with that', async () => {
    const made = await api.client.create(mysqlClusters, manifest(api.namespace, smallest))
    const instance = { name: 'shop-0', role: 'primary', inSyncSet: false }
    const say = (more: object) =>
      applyStatus(
        api.client,
        mysqlClusters,
        { ...made, status: { epoch: 1, instances: [{ ...instance, ...more }] } },
        { fieldManager: 'regent-status' },
      )
    const before = await say({ reason: 'does not replicate' })
    expect(before.status?.instances).toEqual([{ ...instance, reason: 'does not replicate' }])
    const problems = [{ code: 'NotReplicating', sentence: 'shop-0 does not replicate' }]
    const now = await say({ problems })
    expect(now.status?.instances).toEqual([{ ...instance, problems }])
  })

  it('and the spec cannot be written through each other', async () => {
    const made = await api.client.create(mysqlClusters, { ...manifest(api.namespace, smallest), status: { epoch: 9 } })
    expect(made.status).toBeUndefined()
    const told = await api.client.update(
      mysqlClusters,
      { ...made, spec: { ...made.spec, instances: 5 }, status: { epoch: 1 } },
      { subresource: 'status' },
    )
    expect([told.spec.instances, told.status?.epoch]).toEqual([3, 1])
    const changed = await api.client.update(mysqlClusters, {
      ...told,
      spec: { ...told.spec, instances: 5 },
      status: { epoch: 2 },
    })
    expect([changed.spec.instances, changed.status?.epoch, changed.metadata.generation]).toEqual([5, 1, 2])
  })

  it.each<[complaint: string, status: unknown]>([
    ['epoch in body must be of type integer', { epoch: 'seven' }],
    ['Unsupported value: "Maybe"', { conditions: [{ ...ready, status: 'Maybe' }] }],
    ['status.conditions[0].reason: Required value', { conditions: [{ ...ready, reason: undefined }] }],
    ['must be of type date-time', { conditions: [{ ...ready, lastTransitionTime: 'yesterday' }] }],
    ['Duplicate value', { conditions: [ready, ready] }],
    ['Unsupported value: "king"', { instances: [{ name: 'shop-0', role: 'king', inSyncSet: true }] }],
    ['inSyncSet: Required value', { instances: [{ name: 'shop-0', role: 'replica' }] }],
    [
      'must be of type number',
      { instances: [{ name: 'shop-0', role: 'replica', inSyncSet: true, lagSeconds: 'long' }] },
    ],
    ['syncSet in body must be of type array', { syncSet: 'shop-1' }],
    ['status.binding.name: Required value', { binding: {} }],
  ])('refuses others with the words "%s"', async (complaint, status) => {
    await api.client.create(mysqlClusters, manifest(api.namespace, smallest))
    await expect(setStatus(status)).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining(complaint) as string,
    })
  })
})
