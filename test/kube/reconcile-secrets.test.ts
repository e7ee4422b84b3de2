import { expect, it } from 'vitest'
import { issueAuthority, issueLeaf } from '#certificates/issue.ts'
import { realRandom } from '#common/ports/real-world.ts'
import type { KubeObject } from '#controller-runtime/objects/objects.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { mysqlClusters } from '#kube/spec/mysql-cluster.ts'
import { dataOf, secrets, textIn } from '#kube/secrets/secrets.ts'
import { statefulSets, volumeClaims } from '#kube/pods/stateful-set.ts'
import { onApiServer } from './on-api-server.ts'
import { shopOn } from './reconciling.ts'

onApiServer('Reconciling a MySQLCluster', (api) => {
  const { key, manager, cluster, change, stored } = shopOn(api)

  it('brings a deleted Secret back with the passwords that the servers know', async () => {
    await cluster()
    const { reconcile } = manager()
    await reconcile()
    const passwords = async () =>
      Promise.all(
        ['shop-client', 'shop-admin'].map(async (name) => textIn(await api.client.get(secrets, key(name)), 'password')),
      )
    const before = await passwords()
    for (const name of ['shop-client', 'shop-admin']) await api.client.delete(secrets, key(name))
    await reconcile(1)
    expect(await passwords()).toEqual(before)
    expect(before[0]).toMatch(/^[\w-]{32}$/)
  })

  it('takes up new passwords that its annotation asks for once, waits while nothing can be written, and applies nothing over them', async () => {
    await cluster()
    const { reconcile, showStatus, told } = manager()
    await reconcile()
    await showStatus()
    const internal = async () => (await api.client.get(secrets, key('shop-internal'))) ?? expect.fail('no Secret')
    const password = async () => textIn(await api.client.get(secrets, key('shop-client')), 'password') ?? ''
    const before = await password()
    await reconcile()
    expect((await internal()).metadata.annotations).toBeUndefined()
    await api.client.patch(mysqlClusters, key(), { metadata: { annotations: { 'regent.dev/rotate-passwords': '1' } } })
    await reconcile(3)
    expect([...new Set(told)]).toEqual([
      expect.stringMatching(/^Began: .*Secrets shop-client and shop-admin/),
      'Waits: the cluster takes no writes now',
    ])
    const { annotations = {} } = (await internal()).metadata
    expect(annotations).toEqual({
      'regent.dev/rotate-passwords': '1',
      'regent.dev/next-passwords': expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    })
    expect(await password()).toBe(before)
    // As it is where a manager died right after MySQL had them: what is applied from then on are the new ones, and
    // nobody's apply takes that back.
    await api.client.patch(secrets, key('shop-internal'), {
      data: { 'password-generation': Buffer.from(annotations['regent.dev/next-passwords'] ?? '').toString('base64') },
    })
    await reconcile(1)
    const after = await password()
    expect(after).not.toBe(before)
    await manager().reconcile()
    expect(await password()).toBe(after)
    expect((await internal()).metadata.annotations).toEqual(annotations)
  })

  it('goes on showing agents a certificate that they trust when the Secret of the authority is deleted', async () => {
    await cluster()
    const { reconcile } = manager()
    await reconcile()
    const shown = async () => textIn(await api.client.get(secrets, key('shop-ca')), 'tls.crt')
    const authority = async () => textIn(await api.client.get(secrets, key('shop-ca')), 'ca.key')
    const before = [await shown(), await authority()]
    await api.client.delete(secrets, key('shop-ca'))
    await reconcile(1)
    expect(await shown()).toBe(before[0])
    expect(await authority()).not.toBe(before[1])
    expect(await authority()).toBeDefined()
  })

  it('makes no other secret under the servers’ feet: it says how to get the old one back', async () => {
    await cluster()
    const { reconcile, showStatus, set } = manager()
    await reconcile()
    const { apiVersion, kind, metadata } = await stored()
    await api.client.apply(
      mysqlClusters,
      {
        apiVersion,
        kind,
        metadata: { name: metadata.name, namespace: api.namespace },
        status: { epoch: 1 },
      } as KubeObject,
      { fieldManager: 'test', subresource: 'status' },
    )
    await api.client.delete(secrets, key('shop-internal'))
    await expect(reconcile(1)).rejects.toThrow(/Secret .*\/shop-internal is gone.*kubectl -n .* exec shop-0/)
    expect(await api.client.get(secrets, key('shop-internal'))).toBeUndefined()
    expect(set.all()).toHaveLength(1)
    await showStatus()
    expect((await stored()).status?.conditions?.find(({ type }) => type === 'Progressing')).toMatchObject({
      status: 'False',
      reason: 'SpecNotFollowed',
      message: expect.stringContaining('is gone') as string,
    })
  })

  it('makes and restarts no pod for a Secret that is not there, and names it', async () => {
    const volume = (secretName: string) => ({ pod: { volumes: [{ name: 'extra', secret: { secretName } }] } })
    const make = (name: string) => api.client.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: key(name) })
    await cluster({ image: 'mysql:8.4.6', ...volume('of-pods') })
    const { reconcile } = manager()
    await expect(reconcile(1)).rejects.toThrow(/^Secret \S+\/of-pods is not there, .*until then no pod is changed$/)
    expect(await api.client.get(statefulSets, key())).toBeUndefined()
    await make('of-pods')
    await reconcile(1)
    const before = await api.client.get(statefulSets, key())
    await api.client.patch(mysqlClusters, key(), { spec: volume('of-later-pods') })
    await expect(reconcile(1)).rejects.toThrow(/^Secret \S+\/of-later-pods is not there/)
    expect((await api.client.get(statefulSets, key()))?.spec.template).toEqual(before?.spec.template)
    // What pods have already keeps nothing else from being applied.
    await api.client.patch(mysqlClusters, key(), { spec: volume('of-pods') })
    await api.client.delete(secrets, key('of-pods'))
    await reconcile(1)
  })

  it('keeps the passwords without their cluster as soon as its volumes are to stay, whoever made the Secrets', async () => {
    await cluster({ image: 'mysql:8.4.6', volumes: { whenDeleted: 'Delete' } })
    const { reconcile } = manager()
    const owners = () =>
      Promise.all(
        ['shop-internal', 'shop-client', 'shop-admin'].map(
          async (name) => (await api.client.get(secrets, key(name)))?.metadata.ownerReferences?.length ?? 0,
        ),
      )
    await reconcile()
    expect(await owners()).toEqual([1, 1, 1])
    await change({ volumes: { whenDeleted: 'Retain' } })
    await reconcile(1)
    expect(await owners()).toEqual([0, 0, 0])
    await change({ volumes: { whenDeleted: 'Delete' } })
    await reconcile(1)
    expect(await owners()).toEqual([1, 1, 1])
  })

  it('makes no secret for volumes of an earlier cluster, whose own is gone', async () => {
    await cluster({ image: 'mysql:8.4.6' })
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { ...key('data-shop-0'), labels: { 'regent.dev/cluster': 'shop' } },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    }
    await api.client.create<KubeObject>(volumeClaims, claim)
    const { reconcile, refusals } = manager()
    await expect(reconcile(1)).rejects.toThrow('delete the volume claims first')
    expect(await api.client.get(statefulSets, key())).toBeUndefined()
    expect(refusals).toHaveLength(1)
    await api.client.delete(volumeClaims, key('data-shop-0'))
    await api.client.patch(volumeClaims, key('data-shop-0'), { metadata: { finalizers: null } })
    await reconcile(1)
    expect(await api.client.get(statefulSets, key())).toBeDefined()
    expect(refusals.at(-1)).toBe('')
  })

  it('waits for the certificate that clients are to be shown, and says why; a bad one later keeps nothing else from being applied', async () => {
    const moment = { wallMs: Date.now(), random: realRandom }
    const authority = await issueAuthority(86_400_000, moment)
    const leaf = () => issueLeaf(authority, { dns: ['shop-primary'], purposes: ['server'], validMs: 3_600_000 }, moment)
    const [one, other] = [await leaf(), await leaf()]
    await cluster({ image: 'mysql:8.4.6', tls: { secretName: 'mine' } })
    const { reconcile, showStatus, refusals } = manager()
    const degraded = async () => (
      await showStatus(),
      (await stored()).status?.conditions?.find(({ type }) => type === 'Degraded')
    )
    expect(await reconcile(1)).toEqual({ requeueAfterMs: 10_000 })
    expect(await degraded()).toMatchObject({
      status: 'True',
      reason: 'SpecNotFollowed',
      message: expect.stringMatching(
        /Secret .*\/mine \(spec.tls.secretName\) is not there; until it can be used nothing of this spec is applied/,
      ) as string,
    })
    expect(await api.client.get(statefulSets, key())).toBeUndefined()
    await api.client.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: key('mine'),
      data: dataOf({ 'tls.crt': one.cert, 'tls.key': one.key, 'ca.crt': authority.cert }),
    })
    // Sooner than for the certificate, which is every ten minutes, since its servers do not say yet what passwords they
    // have.
    expect(await reconcile(2)).toEqual({ requeueAfterMs: 20_000 })
    expect(refusals.at(-1)).toBe('')
    expect(textIn(await api.client.get(secrets, key('shop-client')), 'ca.crt')).toBe(authority.cert)
    await api.client.patch(secrets, key('mine'), { data: dataOf({ 'tls.key': other.key }) })
    await change({ settings: { max_connections: '500' } })
    expect(await reconcile(1)).toEqual({ requeueAfterMs: 10_000 })
    expect((await api.client.get(configMaps, key('shop-agents')))?.data?.['agent.json']).toContain(
      '"max_connections": "500"',
    )
    expect(refusals.at(-1)).toMatch(
      /mine \(spec.tls.secretName\) cannot be used: tls.key is not the key of tls.crt; servers go on with the certificate they have/,
    )
    // Another one that cannot be used is not put in its place.
    await change({ tls: { secretName: 'nobodys' } })
    await reconcile(1)
    expect(
      (await api.client.get(statefulSets, key()))?.spec.template.spec?.volumes?.find(
        ({ name }) => name === 'client-certificate',
      )?.secret?.secretName,
    ).toBe('mine')
  })
})
