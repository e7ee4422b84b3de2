import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { applyObject } from '#controller-runtime/changes/server-side-apply.ts'
import { agentConfigOf } from '#kube/objects/agent-config.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { podDisruptionBudgets } from '#kube/objects/disruption-budget.ts'
import { mysqlClusters } from '#kube/spec/mysql-cluster.ts'
import { fieldManager } from '#kube/names/names.ts'
import { networkPolicies } from '#kube/objects/network-policy.ts'
import { secrets } from '#kube/secrets/secrets.ts'
import { serviceAccounts } from '#kube/objects/service-account.ts'
import { services } from '#kube/objects/services.ts'
import { pods, scaleManager, scaleOf, statefulSets, volumeClaims } from '#kube/pods/stateful-set.ts'
import { withoutFigures } from '#manager/kubernetes/status/status.ts'
import { onApiServer } from './on-api-server.ts'
import { objectsOf, shopOn } from './reconciling.ts'

const storageClasses: Resource = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'StorageClass',
  plural: 'storageclasses',
  namespaced: false,
}
const kinds: readonly Resource[] = [
  secrets,
  serviceAccounts,
  configMaps,
  services,
  statefulSets,
  podDisruptionBudgets,
  networkPolicies,
]
const everything = [
  ...[
    'Secret shop-admin',
    'Secret shop-ca',
    'Secret shop-certificates',
    'Secret shop-client',
    'Secret shop-internal',
    'ServiceAccount shop-agents',
    'ConfigMap shop-agents',
  ],
  ...[
    'Service shop-instances',
    'Service shop-primary',
    'Service shop-replicas',
    'StatefulSet shop',
    'PodDisruptionBudget shop',
  ],
]

onApiServer('Reconciling a MySQLCluster', (api) => {
  const { key, manager, cluster, change, stored } = shopOn(api)
  const objects = () => objectsOf(api.client, api.namespace, kinds)
  const portOf = async (name: string) => (await api.client.get(services, key(name)))?.spec.ports?.[0]?.port
  const byHand = async (name: string, port: number) =>
    api.client.patch(
      services,
      key(name),
      { spec: { ports: [{ name: 'mysql', port, protocol: 'TCP', targetPort: 3306 }] } },
      { fieldManager: 'kubectl-edit' },
    )

  it('makes everything of the smallest manifest, and all of it goes with the cluster but what is needed with volumes that stay', async () => {
    const { metadata } = await cluster()
    await manager().reconcile()
    const made = await objects()
    expect([...made.keys()].sort()).toEqual([...everything].sort())
    const owned = (object: KubeObject) =>
      object.metadata.ownerReferences?.some(({ uid, controller }) => uid === metadata.uid && controller === true) ??
      false
    expect(
      [...made]
        .filter(([, object]) => !owned(object))
        .map(([name]) => name)
        .sort(),
    ).toEqual(['Secret shop-admin', 'Secret shop-client', 'Secret shop-internal'])
    expect((await api.client.get(statefulSets, key()))?.spec).toMatchObject({ replicas: 3 })
  })

  it('writes the default image into the resource once: another default restarts nothing', async () => {
    await cluster()
    await manager({ image: 'mysql:8.4.6' }).reconcile()
    expect((await stored()).spec.image).toBe('mysql:8.4.6')
    await manager({ image: 'mysql:9.7.0' }).reconcile()
    expect((await stored()).spec.image).toBe('mysql:8.4.6')
    expect((await api.client.get(statefulSets, key()))?.spec.template.spec?.containers[0]?.image).toBe('mysql:8.4.6')
  })

  it('says that an image is missing where nobody names one', async () => {
    await cluster()
    const { reconcile, showStatus, refusals } = manager({ image: null })
    await expect(reconcile()).rejects.toThrow('spec.image is not given')
    await showStatus()
    expect((await stored()).status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'SpecNotFollowed',
      message: expect.stringContaining('spec.image is not given') as string,
    })
    expect(refusals).toEqual([expect.stringContaining('spec.image is not given')])
  })

  it('changes nothing where nothing differs', async () => {
    await cluster({ networkPolicy: true })
    const { reconcile, showStatus } = manager()
    await reconcile(3)
    await showStatus()
    // The API server keeps its list of who wrote what in the order of seconds: the first second after the set was made
    // turns it around, once.
    await sleep(1_100)
    await reconcile(1)
    const versions = async () => [...(await objects())].map(([name, { metadata }]) => [name, metadata.resourceVersion])
    const before = await versions()
    await reconcile()
    await manager().reconcile()
    expect(await versions()).toEqual(before)
  })

  it('puts right at once what a hand changed or deleted (applyOnce off)', async () => {
    await cluster()
    const { reconcile } = manager({ applyOnce: 'off' })
    await reconcile()
    await byHand('shop-replicas', 3333)
    await api.client.delete(services, key('shop-primary'))
    await api.client.delete(podDisruptionBudgets, key())
    await reconcile(1)
    expect([await portOf('shop-replicas'), await portOf('shop-primary')]).toEqual([3306, 3306])
    expect(await api.client.get(podDisruptionBudgets, key())).toBeDefined()
  })

  it('leaves it until the resource changes (applyOnce on)', async () => {
    await cluster()
    const { reconcile, showStatus } = manager({ applyOnce: 'on' })
    await reconcile()
    await showStatus()
    await byHand('shop-replicas', 3333)
    await api.client.delete(services, key('shop-primary'))
    await reconcile(1)
    // Nor does a manager that takes over now.
    await manager({ applyOnce: 'on' }).reconcile(1)
    expect([await portOf('shop-replicas'), await portOf('shop-primary')]).toEqual([3333, undefined])
    await change({ durability: 'available' })
    await reconcile(1)
    expect([await portOf('shop-replicas'), await portOf('shop-primary')]).toEqual([3306, 3306])
  })

  it('leaves it for good, and follows the resource elsewhere (applyOnce force)', async () => {
    await cluster()
    const { reconcile, showStatus } = manager({ applyOnce: 'force' })
    await reconcile()
    await showStatus()
    await byHand('shop-replicas', 3333)
    await api.client.delete(services, key('shop-primary'))
    await change({ settings: { max_connections: '500' }, services: { replicas: { port: 4406 } } })
    await reconcile(1)
    expect([await portOf('shop-replicas'), await portOf('shop-primary')]).toEqual([3333, undefined])
    expect((await api.client.get(configMaps, key('shop-agents')))?.data?.['agent.json']).toContain(
      '"max_connections": "500"',
    )
  })

  it('applies a change once it is all applied, not once it was seen: a status that comes first takes nothing away (applyOnce on)', async () => {
    await cluster()
    const { reconcile, showStatus } = manager({ applyOnce: 'on' })
    await reconcile()
    await change({ settings: { max_connections: '500' } })
    await showStatus()
    const { status, metadata } = await stored()
    expect(status?.observedGeneration).toBe((metadata.generation ?? 0) - 1)
    await reconcile(1)
    expect((await api.client.get(configMaps, key('shop-agents')))?.data?.['agent.json']).toContain(
      '"max_connections": "500"',
    )
  })

  it('never sets the number of pods of a set that is there: scaling owns it', async () => {
    await cluster()
    const { reconcile, showStatus } = manager()
    await reconcile(3)
    await showStatus()
    await applyObject(api.client, statefulSets, scaleOf(key(), 5), { fieldManager: scaleManager })
    await change({ settings: { max_connections: '500' } })
    await reconcile()
    expect((await api.client.get(statefulSets, key()))?.spec.replicas).toBe(5)
  })

  it('makes and removes what the spec asks for and no longer does, and never what others made', async () => {
    await cluster({ networkPolicy: true })
    const { reconcile } = manager()
    await reconcile()
    expect(await api.client.get(networkPolicies, key())).toBeDefined()
    await change({ networkPolicy: false })
    await reconcile(1)
    expect(await api.client.get(networkPolicies, key())).toBeUndefined()
    await api.client.create(networkPolicies, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: key(),
      spec: { podSelector: { matchLabels: {} }, policyTypes: ['Ingress'], ingress: [] },
    })
    await reconcile(1)
    expect(await api.client.get(networkPolicies, key())).toBeDefined()
  })

  it('does not touch what is disabled', async () => {
    await cluster({ networkPolicy: true, podMonitor: true })
    await manager({ disabled: ['disruptionBudgets', 'networkPolicies', 'podMonitors'] }).reconcile()
    expect([await api.client.get(podDisruptionBudgets, key()), await api.client.get(networkPolicies, key())]).toEqual([
      undefined,
      undefined,
    ])
  })

  it('grows the claims of its volumes with the spec, and never shrinks one', async () => {
    await cluster()
    const { reconcile } = manager()
    await reconcile()
    const storageClassName = `expands-${api.namespace}`
    await api.client.create(storageClasses, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: storageClassName },
      provisioner: 'example.org/none',
      allowVolumeExpansion: true,
    } as KubeObject)
    for (const [ordinal, storage] of ['1Gi', '2Gi', '8Gi'].entries()) {
      const claim = {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { ...key(`data-shop-${ordinal}`), labels: { 'regent.dev/cluster': 'shop' } },
        spec: { storageClassName, accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
      }
      await api.client.create<KubeObject>(volumeClaims, claim)
      await api.client.patch(
        volumeClaims,
        key(claim.metadata.name),
        { status: { phase: 'Bound', capacity: { storage } } },
        { subresource: 'status' },
      )
    }
    await change({ storage: { size: '2Gi' } })
    await reconcile(1)
    expect(
      await Promise.all(
        [0, 1, 2].map(
          async (ordinal) =>
            (await api.client.get(volumeClaims, key(`data-shop-${ordinal}`)))?.spec?.resources?.requests?.storage,
        ),
      ),
    ).toEqual(['2Gi', '2Gi', '8Gi'])
  })

  it('pauses with its resource and goes on with it', async () => {
    await cluster()
    const { reconcile, set } = manager()
    await reconcile()
    await change({ paused: true })
    await reconcile()
    expect(set.get(key())?.loop.notes.paused?.reason).toBe('paused in its resource')
    await change({ paused: false })
    await reconcile()
    expect(set.get(key())?.loop.notes.paused).toBeNull()
  })

  it.each(['I look at it', 'paused in its resource'])(
    'neither ends nor replaces a pause of a person: %s',
    async (reason) => {
      await cluster()
      const { reconcile, set } = manager()
      await reconcile(3)
      const pause = { reason, wallMs: 1, by: 'person' as const }
      await set.get(key())?.loop.changeNotes((notes) => ({ ...notes, paused: pause }))
      for (const paused of [true, false]) {
        await change({ paused })
        await reconcile()
      }
      expect(set.get(key())?.loop.notes.paused).toEqual(pause)
    },
  )

  it('changes no object while the resource is paused', async () => {
    await cluster()
    const { reconcile } = manager()
    await reconcile()
    await change({ paused: true, settings: { max_connections: '500' } })
    await byHand('shop-replicas', 3333)
    await reconcile()
    expect(await portOf('shop-replicas')).toBe(3333)
    expect((await api.client.get(configMaps, key('shop-agents')))?.data).toEqual(
      agentConfigOf({ ...(await stored()), spec: { ...(await stored()).spec, settings: {} } }).data,
    )
    await change({ paused: false })
    await reconcile(1)
    expect(await portOf('shop-replicas')).toBe(3306)
  })

  it('writes nothing where it does not lead, and sees the cluster all the same', async () => {
    await cluster()
    const follower = manager({ leads: false })
    expect(await follower.reconcile()).toEqual({ requeueAfterMs: 500 })
    expect(follower.set.all()).toEqual([])
    await manager().reconcile()
    await follower.reconcile()
    await follower.showStatus()
    expect(follower.set.all()).toHaveLength(1)
    expect(follower.writes).toEqual([])
  })

  it('ends its loop when the cluster is deleted', async () => {
    await cluster()
    const { reconcile, set } = manager()
    await reconcile()
    const [loop] = set.all().map((managed) => managed.loop)
    await api.client.delete(mysqlClusters, key())
    await reconcile(1)
    expect(set.all()).toEqual([])
    expect(loop?.leads).toBe(false)
  })

  it('tells of a spec that cannot be followed, is not tried again for nothing, and keeps the one before', async () => {
    await cluster()
    const { reconcile, showStatus, set, later } = manager()
    await reconcile()
    await showStatus()
    await change({ instances: 5, primary: { never: ['other-0'] } })
    for (let time = 0; time < 2; time += 1)
      await expect(reconcile(1)).rejects.toMatchObject({ name: 'TerminalError', code: 'REGENT_BAD_REQUEST' })
    expect(set.get(key())?.loop.spec.instances).toBe(3)
    later(260)
    await showStatus()
    expect((await stored()).status?.conditions?.find(({ type }) => type === 'Progressing')).toMatchObject({
      status: 'False',
      reason: 'SpecNotFollowed',
      message: expect.stringContaining('primary names "other-0"') as string,
    })
    await change({ primary: { never: [] } })
    await reconcile()
    expect(set.get(key())?.loop.spec.instances).toBe(5)
  })

  it('applies nothing of a spec that its webhook would have refused, had it answered, and says why', async () => {
    await cluster()
    const { reconcile, showStatus, set } = manager()
    await reconcile()
    const before = await objects()
    await change({ settings: { gtid_mode: 'OFF' }, pod: { labels: { tier: 'db' } } })
    await expect(reconcile()).rejects.toThrow(
      /spec\.settings: gtid_mode .*; until that is mended nothing of this spec is applied/,
    )
    await showStatus()
    expect((await stored()).status?.conditions?.find(({ type }) => type === 'Degraded')).toMatchObject({
      status: 'True',
      reason: 'SpecNotFollowed',
      message: expect.stringContaining('gtid_mode') as string,
    })
    expect(await objects()).toEqual(before)
    expect(set.get(key())).toBeDefined()
    await change({ settings: null })
    await reconcile()
    expect((await api.client.get(statefulSets, key()))?.spec.template.metadata?.labels).toMatchObject({ tier: 'db' })
  })

  it('gives a cluster whose spec could never be followed a status that says so, and no loop', async () => {
    await cluster({ image: 'mysql:8.4.6', primary: { never: ['other-0'] } })
    const { reconcile, showStatus, set } = manager()
    await expect(reconcile(2)).rejects.toThrow('primary names "other-0"')
    expect(set.all()).toEqual([])
    await showStatus()
    expect((await stored()).status?.sentence).toContain('primary names "other-0"')
  })

  it('shows a status that the API server keeps as it is, and does not write it again where nothing is new', async () => {
    await cluster()
    const { reconcile, showStatus, writes } = manager()
    await reconcile()
    await showStatus()
    const { status } = await stored()
    expect(status).toMatchObject({
      observedGeneration: 2,
      replicas: 3,
      epoch: 0,
      selector: 'regent.dev/cluster=shop',
      binding: { name: 'shop-client' },
    })
    expect(status?.conditions).toHaveLength(5)
    writes.splice(0)
    expect(await showStatus()).toMatchObject({ requeueAfterMs: expect.any(Number) as number })
    expect(writes).toEqual([])
    expect(withoutFigures((await stored()).status)).toBe(withoutFigures(status))
  })

  it('replaces a pod that never ran with one of the changed spec, and that one only', async () => {
    await cluster({ image: 'mysql:8.4.66' })
    const { reconcile, showStatus } = manager()
    await reconcile()
    const template = async () =>
      (await api.client.get(statefulSets, key()))?.spec.template ?? expect.fail('no template')
    const pod = async (name: string) => {
      const { metadata, spec } = await template()
      const volumes = [...(spec?.volumes ?? []), { name: 'data', emptyDir: {} }]
      await api.client.create(pods, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...key(name), labels: { ...metadata?.labels }, annotations: { ...metadata?.annotations } },
        spec: { ...spec, volumes, containers: spec?.containers ?? [] },
      } as KubeObject)
    }
    await pod('shop-0')
    await showStatus()
    expect(await api.client.get(pods, key('shop-0'))).toBeDefined()
    await change({ image: 'mysql:8.4.6' })
    // As long as the set makes what it made before, nothing is won.
    await showStatus()
    expect(await api.client.get(pods, key('shop-0'))).toBeDefined()
    await reconcile(1)
    await pod('shop-1')
    await showStatus()
    expect([
      await api.client.get(pods, key('shop-0')),
      (await api.client.get(pods, key('shop-1')))?.metadata.name,
    ]).toEqual([undefined, 'shop-1'])
  })

  it('is known to the API server as one manager of fields', async () => {
    await cluster()
    await manager().reconcile()
    const { metadata } = (await api.client.get(statefulSets, key())) as unknown as {
      metadata: { managedFields: readonly { manager: string }[] }
    }
    expect([...new Set(metadata.managedFields.map(({ manager: name }) => name))].sort()).toEqual(
      [fieldManager, scaleManager].sort(),
    )
  })
})
