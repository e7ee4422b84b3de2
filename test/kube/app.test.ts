import { expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { testingInformer } from '#controller-runtime/testing-informer.ts'
import { apps, type App } from '#kube/app/app.ts'
import { deployments } from '#kube/app/app-objects.ts'
import type { AppSpec } from '#kube/app/app-schema.ts'
import { services } from '#kube/objects/services.ts'
import { reconcileApp } from '#manager/kubernetes/apps/reconcile-app.ts'
import { customResourceDefinitions } from './clients.ts'
import { onApiServer } from './on-api-server.ts'

onApiServer('An App', (api) => {
  const key = () => ({ namespace: api.namespace, name: 'web' })
  const smallest = { image: 'registry.example/web:1', ports: [{ port: 80, targetPort: 8080 }] }
  const create = (spec: object = smallest, metadata: object = {}) =>
    api.client.create(apps, {
      apiVersion: 'apps.regent.dev/v1',
      kind: 'App',
      metadata: { ...key(), ...metadata },
      spec: spec as AppSpec,
    })
  const change = (spec: object) => api.client.patch(apps, key(), { spec })
  const deployment = async () => (await api.client.get(deployments, key())) ?? expect.fail('there is no Deployment')
  const service = async (name = 'web') =>
    (await api.client.get(services, { ...key(), name })) ?? expect.fail(`there is no Service ${name}`)
  const stored = async () => (await api.client.get(apps, key())) ?? expect.fail('there is no App')

  /** Runs once what the controller would run after a change. */
  const reconcile = async (): Promise<App> => {
    const seen = testingInformer<App>('apps', [await stored()])
    const recorder = { record: () => undefined }
    const parts = { client: api.client, clock: realWorld.clock, apps: seen, leads: () => true, recorder }
    await reconcileApp(parts)(key(), new AbortController().signal)
    return stored()
  }
  const said = ({ status }: App) => status?.conditions?.map(({ type, status: is, reason }) => `${type} ${is} ${reason}`)

  /** What Kubernetes’ own controller would say of the Deployment. */
  const pretend = async (status: object) => {
    const { metadata } = await deployment()
    await api.client.patch(
      deployments,
      key(),
      { status: { observedGeneration: metadata.generation, ...status } },
      { subresource: 'status' },
    )
  }
  const refused = (message: string) =>
    expect.objectContaining({ status: 422, message: expect.stringContaining(message) as string }) as unknown

  it('has a definition that the API server accepts', async () => {
    const found = await api.client.get(customResourceDefinitions, { namespace: '', name: 'apps.apps.regent.dev' })
    const conditions = (found?.status?.conditions ?? []).map(({ type, status }) => `${type} ${status}`)
    expect(conditions).toEqual(expect.arrayContaining(['NamesAccepted True', 'Established True']))
    expect(conditions.join()).not.toContain('NonStructuralSchema')
  })

  it('becomes a Deployment and a Service, which it owns', async () => {
    await create({
      ...smallest,
      ...{ replicas: 2, command: ['/web'], args: ['--loud'], envs: [{ name: 'COLOUR', value: 'green' }] },
      ...{ resources: { requests: { cpu: '10m' } }, volumes: [{ name: 'tmp', emptyDir: {} }] },
      ...{ volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }], securityContext: { runAsNonRoot: true } },
    })
    const { metadata } = await reconcile()
    const made = await deployment()
    expect(made.metadata.ownerReferences).toMatchObject([{ kind: 'App', uid: metadata.uid, controller: true }])
    expect(made.spec).toMatchObject({
      replicas: 2,
      selector: { matchLabels: { 'apps.regent.dev/app': 'web' } },
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: { labels: { 'apps.regent.dev/app': 'web' } },
        spec: {
          automountServiceAccountToken: false,
          topologySpreadConstraints: [{ topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' }],
          containers: [
            {
              ...{ name: 'app', image: 'registry.example/web:1', command: ['/web'], args: ['--loud'] },
              ...{ env: [{ name: 'COLOUR', value: 'green' }], resources: { requests: { cpu: '10m' } } },
              ports: [{ name: 'port-80', containerPort: 8080, protocol: 'TCP' }],
              readinessProbe: { tcpSocket: { port: 8080 } },
              volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
            },
          ],
        },
      },
    })
    const { metadata: of, spec } = await service()
    expect(of.ownerReferences).toMatchObject([{ kind: 'App', uid: metadata.uid, controller: true }])
    expect(spec).toMatchObject({
      selector: { 'apps.regent.dev/app': 'web' },
      ports: [{ name: 'port-80', port: 80, targetPort: 8080, protocol: 'TCP' }],
    })
  })

  it('says how both are, and is ready when all pods are, of the newest spec', async () => {
    await create({ ...smallest, replicas: 2 })
    await reconcile()
    await pretend({ replicas: 2, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 2 })
    const waiting = await reconcile()
    expect(said(waiting)).toEqual(['Ready False RollingOut', 'InStep True Applied'])
    expect(waiting.status).toMatchObject({
      ...{ sentence: '1 of 2 pods ready, 2 of the newest spec', readyReplicas: 1, replicas: 2 },
      ...{ address: `web.${api.namespace}.svc`, selector: 'apps.regent.dev/app=web' },
    })
    expect(waiting.status?.clusterIP).toMatch(/^\d+\.\d+\.\d+\.\d+$/)
    await pretend({ replicas: 2, readyReplicas: 2, availableReplicas: 2, updatedReplicas: 2 })
    const ready = await reconcile()
    expect(said(ready)).toEqual(['Ready True AllReady', 'InStep True Applied'])
    expect(ready.status?.sentence).toBe('2 pods ready, all of the newest spec')
    await change({ image: 'registry.example/web:2' })
    expect(said(await reconcile())?.[0]).toBe('Ready False RollingOut')
    expect((await deployment()).spec.template.spec?.containers[0]?.image).toBe('registry.example/web:2')
  })

  it('writes nothing where nothing differs', async () => {
    await create()
    const first = await reconcile()
    const versions = [(await deployment()).metadata, (await service()).metadata].map((one) => one.resourceVersion)
    const again = await reconcile()
    expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    expect([(await deployment()).metadata, (await service()).metadata].map((one) => one.resourceVersion)).toEqual(
      versions,
    )
  })

  it('puts right what hands change, and makes again what they delete', async () => {
    await create()
    await reconcile()
    await api.client.patch(deployments, key(), { spec: { replicas: 7 } })
    await api.client.patch(services, key(), { spec: { selector: { tier: 'wrong' }, ports: [{ port: 81 }] } })
    await reconcile()
    expect((await deployment()).spec.replicas).toBe(1)
    expect((await service()).spec.selector).toEqual({ 'apps.regent.dev/app': 'web' })
    expect((await service()).spec.ports?.map(({ port }) => port)).toEqual([80])
    await api.client.delete(services, key())
    await api.client.delete(deployments, key())
    await reconcile()
    expect([(await deployment()).kind, (await service()).kind]).toEqual(['Deployment', 'Service'])
  })

  it('has no Service without a port, and takes away the one it had', async () => {
    await create()
    await reconcile()
    await change({ ports: [] })
    await reconcile()
    expect(await api.client.get(services, key())).toBeUndefined()
  })

  it('changes nothing of an object that is somebody else’s, and says which', async () => {
    await api.client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: key(),
      spec: { ports: [{ port: 443 }] },
    })
    await create()
    const app = await reconcile()
    expect(said(app)).toEqual(['Ready False NotMade', 'InStep False NotApplied'])
    expect(app.status?.sentence).toContain(`Service ${api.namespace}/web is not of App web`)
    expect((await service()).spec.ports?.map(({ port }) => port)).toEqual([443])
    expect(await api.client.get(deployments, key())).toBeUndefined()
  })

  it('says what the API server says of a part that is passed on as it is', async () => {
    await create({ ...smallest, resources: { requests: { cpu: 'much' } } })
    expect((await reconcile()).status?.sentence).toContain('spec.resources.requests.cpu is "much"')
    await change({ resources: null, envs: [{ value: 'without a name' }] })
    const { status } = await reconcile()
    expect(status?.sentence).toMatch(/env.*name/)
  })

  it('says what Kubernetes says of a Deployment that makes no pods', async () => {
    await create()
    await reconcile()
    const condition = {
      type: 'ReplicaFailure',
      status: 'True',
      reason: 'FailedCreate',
      message: 'exceeded quota: small',
    }
    await pretend({ replicas: 0, conditions: [condition] })
    expect((await reconcile()).status?.sentence).toBe('0 of 1 pod ready, 0 of the newest spec: exceeded quota: small')
  })

  it('is scaled as a Deployment is', async () => {
    await create()
    await api.client.patch(apps, key(), { spec: { replicas: 3 } }, { subresource: 'scale' })
    await reconcile()
    expect((await deployment()).spec.replicas).toBe(3)
  })

  it.each([
    ['image is not given: there is nothing to run', { ports: [{ port: 80 }] }],
    ['two ports have the same number', { ...smallest, ports: [{ port: 80 }, { port: 80, name: 'other' }] }],
    [
      'two ports have the same name',
      {
        ...smallest,
        ports: [
          { port: 80, name: 'web' },
          { port: 81, name: 'web' },
        ],
      },
    ],
    ['podLabels has apps.regent.dev/app', { ...smallest, podLabels: { 'apps.regent.dev/app': 'other' } }],
    ['spec.ports[0].port in body should be less than or equal to 65535', { ...smallest, ports: [{ port: 70_000 }] }],
    ['spec.replicas in body should be greater than or equal to 0', { ...smallest, replicas: -1 }],
  ])('is refused with "%s", also while no webhook answers', async (message, spec) => {
    await expect(create(spec)).rejects.toEqual(refused(message))
  })

  it('is refused with a name that is too long', async () => {
    await expect(create(smallest, { name: 'w'.repeat(53) })).rejects.toEqual(refused('may not be more than 52'))
  })

  it('keeps the name of its Service, which clients know', async () => {
    await create({ ...smallest, service: { name: 'shop-web' } })
    await reconcile()
    expect((await service('shop-web')).spec.ports).toHaveLength(1)
    await expect(change({ service: { name: 'other' } })).rejects.toEqual(refused('service.name cannot change'))
  })

  it('keeps the name of its Service, also where the App never said one', async () => {
    await create(smallest)
    await expect(change({ service: { name: 'other' } })).rejects.toEqual(refused('service.name cannot change'))
  })
})
