import { expect, it } from 'vitest'
import { Value } from 'typebox/value'
import { mysqlClusters, type MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { mysqlClusterSpecSchema } from '#kube/spec/spec-schema.ts'
import { ask, customResourceDefinitions } from './clients.ts'
import { onApiServer } from './on-api-server.ts'
import { manifest, smallest } from './smallest-cluster.ts'

onApiServer('The custom resource definition', (api) => {
  const key = () => ({ namespace: api.namespace, name: 'shop' })
  const create = (spec: unknown, name?: string) => api.client.create(mysqlClusters, manifest(api.namespace, spec, name))
  const change = (spec: unknown) => api.client.patch(mysqlClusters, key(), { spec })
  const path = () => `/apis/regent.dev/v1alpha1/namespaces/${api.namespace}/mysqlclusters`

  it('is accepted as it is, and nothing in it is against the rules of a structural schema', async () => {
    const definition = await api.client.get(customResourceDefinitions, {
      namespace: '',
      name: 'mysqlclusters.regent.dev',
    })
    const conditions = Object.fromEntries(
      (definition?.status?.conditions ?? []).map(({ type, status }) => [type, status]),
    )
    expect(conditions).toMatchObject({ NamesAccepted: 'True', Established: 'True' })
    expect(conditions['NonStructuralSchema']).toBeUndefined()
    expect(definition?.status?.acceptedNames).toMatchObject({
      kind: 'MySQLCluster',
      shortNames: ['mysql'],
      categories: ['all'],
    })
    const { body } = await ask(api.access, { path: '/apis/regent.dev/v1alpha1' })
    expect(
      (body as { resources: { name: string; shortNames?: string[] }[] }).resources
        .filter(({ name }) => name.startsWith('mysqlclusters'))
        .map(({ name, shortNames }) => [name, shortNames]),
    ).toEqual([
      ['mysqlclusters', ['mysql']],
      ['mysqlclusters/status', undefined],
      ['mysqlclusters/scale', undefined],
    ])
  })

  it('fills in for the smallest manifest what the schema in the code fills in', async () => {
    const { spec } = await create(smallest)
    const { acks, ...expected } = Value.Default(
      mysqlClusterSpecSchema,
      structuredClone(smallest),
    ) as MySQLCluster['spec']
    expect(spec).toEqual(expected)
    // The API server has no way to fill in a null; that it is not there says the same.
    expect(acks).toBeNull()
    expect(Value.Errors(mysqlClusterSpecSchema, { ...spec, acks: null })).toEqual([])
  })

  it('fills in also what is given as null, and takes null for acks as said', async () => {
    expect((await create({ ...smallest, instances: null, mode: null, services: null, acks: null })).spec).toMatchObject(
      { instances: 3, mode: 'semisync', services: { routing: 'endpoints' }, acks: null },
    )
  })

  it.each<[what: string, before: object, change: object, message: string]>([
    ['a mode that is none', {}, { mode: 'sync' }, 'Unsupported value: "sync"'],
    ['a change of mode', {}, { mode: 'async' }, 'mode cannot change; make a new cluster'],
    [
      'as many acknowledgements as instances',
      {},
      { acks: 3 },
      'acks counts replicas, so it must be less than instances',
    ],
    [
      'fewer instances than the acknowledgements need',
      { acks: 2 },
      { instances: 2 },
      'acks counts replicas, so it must be less than instances',
    ],
    [
      'a volume that shrinks',
      { storage: { size: '1.5Gi' } },
      { storage: { size: '1535Mi' } },
      'a volume cannot shrink; make a new cluster',
    ],
    [
      'another way to the primary',
      {},
      { services: { routing: 'labels' } },
      'services.routing cannot change: endpoints of the other kind would stay behind',
    ],
    [
      'another storage class',
      { storage: { size: '1Gi', storageClassName: 'fast' } },
      { storage: { storageClassName: 'slow' } },
      'the storage class of existing volumes cannot change',
    ],
    [
      'a storage class where there was none',
      {},
      { storage: { storageClassName: 'slow' } },
      'the storage class of existing volumes cannot change',
    ],
    [
      'no storage class where there was one',
      { storage: { size: '1Gi', storageClassName: 'fast' } },
      { storage: { storageClassName: null } },
      'the storage class of existing volumes cannot change',
    ],
    [
      'lastOrdinal beside preferred',
      { primary: { preferred: { 'shop-0': 5 } } },
      { primary: { lastOrdinal: true } },
      'lastOrdinal and preferred contradict each other; choose one',
    ],
  ])('refuses %s, also while no webhook answers', async (_what, before, wanted, message) => {
    await create({ ...smallest, ...before })
    await expect(change(wanted)).rejects.toMatchObject({
      status: 422,
      reason: 'Invalid',
      message: expect.stringContaining(message) as string,
    })
  })

  it.each<[what: string, before: object, change: object]>([
    ['more instances', {}, { instances: 5 }],
    ['fewer, as long as acks allows', { acks: 1 }, { instances: 2 }],
    ['a larger volume', { storage: { size: '900Mi' } }, { storage: { size: '1Gi' } }],
    ['the same size in other words', { storage: { size: '1Gi' } }, { storage: { size: '1024Mi' } }],
    [
      'weights once lastOrdinal is off',
      { primary: { lastOrdinal: true } },
      { primary: { lastOrdinal: false, preferred: { 'shop-0': 5 } } },
    ],
    ['lifecycle actions', {}, { lifecycle: { tokenSecret: { name: 'callers' } } }],
    [
      'lifecycle actions that are open from now on',
      { lifecycle: { tokenSecret: { name: 'callers' } } },
      { lifecycle: { tokenSecret: null, open: true, port: 3601 } },
    ],
    ['no number of acknowledgements any more', { acks: 2 }, { acks: null, instances: 2 }],
  ])('allows %s', async (_what, before, wanted) => {
    await create({ ...smallest, ...before })
    expect((await change(wanted)).metadata.generation).toBe(2)
  })

  it.each<[complaint: string, spec: unknown]>([
    ['spec: Required value', undefined],
    ['spec: Required value', null],
    ['spec in body must be of type object', 'three instances'],
    ['spec in body must be of type object', []],
    ['spec.storage: Required value', {}],
    ['spec.storage.size: Required value', { storage: {} }],
    ['spec.storage.size in body should match', { storage: { size: '' } }],
    ['spec.storage.size in body must be of type string', { storage: { size: 1 } }],
    ['spec.storage.size in body should match', { storage: { size: '-1Gi' } }],
    ['spec.storage.size in body should match', { storage: { size: '1GiB' } }],
    ['spec.storage.size in body should match', { storage: { size: '1Gi\n' } }],
    ['spec.storage.size in body should match', { storage: { size: 'as much as there is' } }],
    ['may not be more than 32', { storage: { size: '9'.repeat(33) } }],
    ['a volume of nothing holds no database', { storage: { size: '0' } }],
    ['a volume of nothing holds no database', { storage: { size: '0.0Gi' } }],
    ['spec.instances in body should be greater than or equal to 1', { ...smallest, instances: 0 }],
    ['spec.instances in body should be less than or equal to 16', { ...smallest, instances: 17 }],
    ['spec.instances in body should be greater than or equal to 1', { ...smallest, instances: -3 }],
    ['spec.instances in body must be of type integer', { ...smallest, instances: 2.5 }],
    ['spec.instances in body must be of type integer', { ...smallest, instances: '3' }],
    ['spec.instances', { ...smallest, instances: 1e30 }],
    ['who may call is not said', { ...smallest, lifecycle: {} }],
    ['who may call is not said', { ...smallest, lifecycle: { open: true, tokenSecret: { name: 'callers' } } }],
    ['each needs its own', { ...smallest, lifecycle: { open: true, port: 3502 } }],
    ['give either configMap or these', { ...smallest, lifecycle: { open: true, configMap: 'env', probes: '[]' } }],
    ['spec.mode: Unsupported value: "galera"', { ...smallest, mode: 'galera' }],
    ['spec.acks in body should be greater than or equal to 0', { ...smallest, acks: -1 }],
    ['spec.acks in body should be less than or equal to 15', { ...smallest, acks: 16 }],
    ['acks counts replicas', { ...smallest, instances: 1, acks: 1 }],
    ['spec.image in body should be at least 1 chars long', { ...smallest, image: '' }],
    ['spec.imagePullPolicy: Unsupported value: "Sometimes"', { ...smallest, imagePullPolicy: 'Sometimes' }],
    [
      'spec.settings.max_connections in body must be of type string',
      { ...smallest, settings: { max_connections: 500 } },
    ],
    ['may not be more than 4096', { ...smallest, settings: { init_connect: 'x'.repeat(4_097) } }],
    ['spec.services.routing: Unsupported value: "dns"', { ...smallest, services: { routing: 'dns' } }],
    [
      'spec.services.primary.port in body should be less than or equal to 65535',
      { ...smallest, services: { primary: { port: 65_536 } } },
    ],
    [
      'spec.primary.preferred.shop-0 in body must be of type integer',
      { ...smallest, primary: { preferred: { 'shop-0': 'much' } } },
    ],
    [
      'spec.primary.never: Too many: 17',
      { ...smallest, primary: { never: Array.from({ length: 17 }, (_, ordinal) => `shop-${ordinal}`) } },
    ],
    [
      'lastOrdinal and preferred contradict each other; choose one',
      { ...smallest, primary: { lastOrdinal: true, preferred: { 'shop-0': 1 } } },
    ],
    ['spec.paused in body must be of type boolean', { ...smallest, paused: 'yes' }],
    [
      'spec.failover.windowSeconds in body should be greater than or equal to 0',
      { ...smallest, failover: { windowSeconds: -1 } },
    ],
    [
      'spec.switchover.timeoutMs in body should be greater than or equal to 100',
      { ...smallest, switchover: { timeoutMs: 1 } },
    ],
    ['spec.volumes.whenDeleted: Unsupported value: "Burn"', { ...smallest, volumes: { whenDeleted: 'Burn' } }],
    ['spec.scheduling.tolerations in body must be of type array', { ...smallest, scheduling: { tolerations: 'all' } }],
    [
      'spec.pod.terminationGracePeriodSeconds in body should be greater than or equal to 10',
      { ...smallest, pod: { terminationGracePeriodSeconds: 1 } },
    ],
    ['spec.pod.containers: Too many: 65', { ...smallest, pod: { containers: Array.from({ length: 65 }, () => ({})) } }],
    ['spec.resources in body must be of type object', { ...smallest, resources: 'plenty' }],
  ])('refuses a spec with the words "%s"', async (complaint, spec) => {
    await expect(create(spec)).rejects.toMatchObject({
      status: 422,
      reason: 'Invalid',
      message: expect.stringContaining(complaint) as string,
    })
    expect(await api.client.get(mysqlClusters, key())).toBeUndefined()
  })

  it.each(['s'.repeat(40), '0shop', 'shop.eu'])(
    'refuses the name "%s": names of Services and accounts are made from it',
    async (name) => {
      await expect(create(smallest, name)).rejects.toMatchObject({
        status: 422,
        message: expect.stringContaining('metadata.name') as string,
      })
    },
  )

  it('refuses what is too large to be kept', async () => {
    const settings = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, number) => [`setting_${number}`, 'x'.repeat(4_096)]))
    await expect(create({ ...smallest, settings: settings(500) })).rejects.toMatchObject({
      code: 'REGENT_KUBE_API',
      message: expect.stringMatching(/too large|limit/i) as string,
    })
    await expect(create({ ...smallest, settings: settings(1_000) })).rejects.toMatchObject({
      status: 413,
      reason: 'RequestEntityTooLarge',
    })
    expect(await api.client.get(mysqlClusters, key())).toBeUndefined()
  })

  it('drops fields that it does not know, and refuses them where strictness is asked for, as kubectl does', async () => {
    const odd = manifest(api.namespace, { ...smallest, instance: 5, storage: { size: '1Gi', colour: 'blue' } })
    const strict = await ask(api.access, { method: 'POST', path: `${path()}?fieldValidation=Strict`, body: odd })
    expect(strict).toMatchObject({
      status: 400,
      body: {
        message: expect.stringMatching(
          /unknown field "spec\.instance".*unknown field "spec\.storage\.colour"/s,
        ) as string,
      },
    })
    const { spec } = await api.client.create(mysqlClusters, odd)
    expect(spec).not.toHaveProperty('instance')
    expect(spec.storage).toEqual({ size: '1Gi' })
  })

  it('keeps whatever is Kubernetes’ own, also fields that came after this version', async () => {
    const affinity = { podAntiAffinity: { someday: [{ x: 1 }] } }
    const env = [{ name: 'TZ', value: 'UTC', later: { deep: true } }]
    const { spec } = await create({
      ...smallest,
      scheduling: { affinity },
      pod: { env },
      resources: { requests: { cpu: '100m' } },
    })
    expect([spec.scheduling.affinity, spec.pod.env, spec.resources]).toEqual([
      affinity,
      env,
      { requests: { cpu: '100m' } },
    ])
  })

  it('shows in a table what people ask first', async () => {
    await create(smallest)
    const status = {
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'Ready',
          message: 'all take part',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
      observedAt: '2026-01-01T00:00:00Z',
      primary: 'shop-1',
      epoch: 7,
      syncSet: ['shop-0', 'shop-2'],
      sentence: 'no action: primary shop-1 is healthy',
      group: {
        ...{ summary: '3 of 3 ONLINE, 1 may be lost', name: 'g', condition: 'online' },
        ...{ online: 3, expected: 3, mayBeLost: 1 },
      },
    }
    await api.client.patch(mysqlClusters, key(), { status }, { subresource: 'status' })
    const { body } = await ask(api.access, { path: path(), accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' })
    const { columnDefinitions, rows } = body as {
      columnDefinitions: { name: string; priority: number }[]
      rows: { cells: unknown[] }[]
    }
    expect(columnDefinitions.map(({ name, priority }) => (priority === 0 ? name : `(${name})`))).toEqual([
      'Name',
      'Ready',
      'Primary',
      'Epoch',
      'Instances',
      'Group',
      '(Sync set)',
      'Status',
      'Observed',
      'Age',
    ])
    expect(rows.map(({ cells }) => cells.slice(0, -1))).toEqual([
      [
        'shop',
        'True',
        'shop-1',
        7,
        3,
        '3 of 3 ONLINE, 1 may be lost',
        '["shop-0","shop-2"]',
        'no action: primary shop-1 is healthy',
        expect.stringMatching(/^\d+[smhd]/),
      ],
    ])
  })
})
