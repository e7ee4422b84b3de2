import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Value } from 'typebox/value'
import { parse } from 'yaml'
import { beforeAll, expect, it } from 'vitest'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { realRandom } from '#common/ports/real-world.ts'
import { namesOf } from '#kube/names/names.ts'
import { secretsOf } from '#kube/secrets/secrets.ts'
import { mysqlClusterSpecSchema } from '#kube/spec/spec-schema.ts'
import { aCluster } from '#kube/testing.ts'
import {
  chartFolder,
  type ChartName,
  describeCharts,
  lint,
  only,
  refusalOf,
  render,
  type Rendered,
  renderNotes,
} from './helm.ts'
import { imagesIn, podTemplates, restrictedComplaint } from './rendered-pods.ts'

const shop = { release: 'shop', namespace: 'shops' }
let objects: readonly Rendered[]
beforeAll(async () => {
  objects = await render('mysql-cluster', {}, shop)
})

describeCharts('the chart of one cluster', () => {
  it('is what helm calls a good chart', async () => {
    expect(await lint('mysql-cluster')).toMatchObject({
      ok: true,
      stdout: expect.stringContaining('0 chart(s) failed') as string,
    })
  })

  it('makes a cluster of the release’s name that its definition takes', () => {
    const cluster = only(objects, 'MySQLCluster')
    expect(cluster).toMatchObject({
      apiVersion: 'regent.dev/v1alpha1',
      metadata: { name: 'shop', namespace: 'shops' },
      spec: { instances: 3, storage: { size: '10Gi' } },
    })
    expect(
      complaintAbout(mysqlClusterSpecSchema, Value.Default(mysqlClusterSpecSchema, cluster['spec'])),
    ).toBeUndefined()
  })

  it('passes the spec on as it is', async () => {
    const spec = {
      instances: 5,
      storage: { size: '1Ti', storageClassName: 'fast' },
      settings: { max_connections: '900' },
      primary: { preferred: { 'shop-1': 10 } },
      failover: { automatic: false },
      acks: null,
    }
    expect(only(await render('mysql-cluster', { spec }, shop), 'MySQLCluster')['spec']).toEqual(spec)
  })

  it('adds labels and annotations, and keeps those that say whose it is', async () => {
    const values = {
      nameOverride: 'orders',
      labels: { team: 'payments', 'app.kubernetes.io/instance': 'mine' },
      annotations: { 'regent.dev/rotate': '2' },
    }
    expect(only(await render('mysql-cluster', values, shop), 'MySQLCluster').metadata).toMatchObject({
      name: 'orders',
      labels: {
        team: 'payments',
        'app.kubernetes.io/name': 'mysql-cluster',
        'app.kubernetes.io/instance': 'shop',
        'app.kubernetes.io/managed-by': 'Helm',
      },
      annotations: { 'regent.dev/rotate': '2' },
    })
  })

  it.each([
    [{ instances: 5 }, "additional properties 'instances' not allowed"],
    [{ spec: { storage: { size: null } } }, "at '/spec/storage': missing property 'size'"],
    [{ nameOverride: 'Shop' }, "at '/nameOverride'"],
    [{ test: { image: 'mysql:latest' } }, "at '/test/image'"],
  ])('refuses nonsense such as %j', async (values, complaint) => {
    expect(await refusalOf('mysql-cluster', values, shop)).toContain(complaint)
  })

  it.each(['7shop', 'shop.eu', 'a-name-that-is-much-too-long-for-a-cluster'])(
    'refuses the release name %s, which cannot name a cluster',
    async (release) => {
      expect(await refusalOf('mysql-cluster', {}, { ...shop, release })).toContain(
        `"${release}" cannot name a cluster: allowed are at most 39 lower-case letters`,
      )
    },
  )

  it('tests a login with what the cluster’s Secret has', () => {
    const [pod] = podTemplates(objects)
    const asked = pod?.spec.containers[0]?.env?.map(({ valueFrom }) => valueFrom?.secretKeyRef)
    const secret = secretsOf(aCluster(), new Map(), realRandom).find(
      ({ metadata }) => metadata.name === namesOf('shop').client,
    )
    expect(asked).toHaveLength(5)
    for (const { name, key } of asked?.filter((one) => one !== undefined) ?? [])
      expect([name, Object.keys(secret?.data ?? {})]).toEqual(['shop-client', expect.arrayContaining([key])])
    expect(pod && restrictedComplaint(pod)).toBe('')
  })

  it('logs in by the same MySQL that clusters run unless told otherwise', async () => {
    const valuesOf = async (chart: ChartName) =>
      parse(await readFile(join(chartFolder(chart), 'values.yaml'), 'utf8')) as {
        readonly mysql: { readonly image: string }
      }
    expect(imagesIn(objects)).toEqual([(await valuesOf('regent')).mysql.image])
  })

  it('lets agents write Events where they may have probes, and not where they have none', async () => {
    const kinds = async (lifecycle: object) =>
      (await render('mysql-cluster', { spec: { lifecycle } }, shop)).map(({ kind }) => kind)
    for (const more of [{ probes: '[]' }, { configMap: 'shop-env' }])
      expect(await kinds({ open: true, ...more })).toEqual(expect.arrayContaining(['Role', 'RoleBinding']))
    expect(await kinds({ open: true })).not.toContain('Role')
    const rendered = await render('mysql-cluster', { spec: { lifecycle: { open: true, probes: '[]' } } }, shop)
    const binding = only(rendered, 'RoleBinding')
    expect(binding['subjects']).toEqual([
      { kind: 'ServiceAccount', name: namesOf('shop').serviceAccount, namespace: 'shops' },
    ])
    expect(binding['roleRef']).toMatchObject({ kind: 'Role', name: only(rendered, 'Role').metadata.name })
    expect(only(rendered, 'Role')['rules']).toEqual([
      { apiGroups: [''], resources: ['events'], verbs: ['get', 'create', 'update'] },
    ])
  })

  it('says in the notes how to connect', async () => {
    const notes = await renderNotes('mysql-cluster', {}, shop)
    const names = namesOf('shop')
    expect(notes).toContain('kubectl -n shops wait --for=condition=Ready --timeout=10m mysql/shop')
    expect(notes).toContain(`kubectl -n shops get secret ${names.client} -o jsonpath='{.data.password}'`)
    expect(notes).toContain(`mysql --host=${names.primary} --user=client --password app`)
    expect(notes).toContain(`${names.replicas}.shops.svc`)
  })
})
