import { expect, it } from 'vitest'
import { mysqlBackups, type MySQLBackup } from '#kube/backup/mysql-backup.ts'
import { mysqlClusters } from '#kube/spec/mysql-cluster.ts'
import { ask, customResourceDefinitions } from './clients.ts'
import { onApiServer } from './on-api-server.ts'
import { manifest, smallest } from './smallest-cluster.ts'

onApiServer('The definition of MySQLBackup', (api) => {
  const key = () => ({ namespace: api.namespace, name: 'nightly' })
  const create = (spec: object) =>
    api.client.create(mysqlBackups, {
      apiVersion: 'regent.dev/v1alpha1',
      kind: 'MySQLBackup',
      metadata: key(),
      spec: spec as MySQLBackup['spec'],
    })
  const refused = (message: string) =>
    expect.objectContaining({ status: 422, message: expect.stringContaining(message) as string }) as unknown

  it('is accepted as it is', async () => {
    const definition = await api.client.get(customResourceDefinitions, {
      namespace: '',
      name: 'mysqlbackups.regent.dev',
    })
    const conditions = (definition?.status?.conditions ?? []).map(({ type, status }) => `${type} ${status}`)
    expect(conditions).toEqual(expect.arrayContaining(['NamesAccepted True', 'Established True']))
    expect(conditions.join()).not.toContain('NonStructuralSchema')
  })

  it('takes what a person says, and never lets that become another backup', async () => {
    await create({ cluster: 'shop', instance: 'shop-1' })
    for (const spec of [{ cluster: 'mall' }, { instance: 'shop-2' }, { instance: null }])
      await expect(api.client.patch(mysqlBackups, key(), { spec })).rejects.toEqual(
        refused('a backup cannot become another one'),
      )
    await api.client.patch(mysqlBackups, key(), { metadata: { labels: { why: 'before-an-upgrade' } } })
  })

  it.each([
    ['spec.cluster: Required value', {}],
    ['spec.instance in body should match', { cluster: 'shop', instance: 'Shop_1' }],
    ['spec.backup in body should match', { cluster: 'shop', backup: 'yesterday' }],
  ])('refuses with "%s"', async (message, spec) => {
    await expect(create(spec)).rejects.toEqual(refused(message))
  })

  it('shows people what a run is', async () => {
    await create({ cluster: 'shop' })
    const status = {
      ...{ phase: 'Succeeded', backup: '20261126T031209Z', instance: 'shop-2', size: '3.0 MiB', stored: '1.0 MiB' },
      ...{ bytes: 3_145_728, storedBytes: 1_048_576, startedAt: '2026-11-26T03:12:09Z', message: 'is made' },
      ...{ completedAt: '2026-11-26T03:13:00Z', verified: { at: '2026-11-27T04:00:00Z', restoreSeconds: 12.5 } },
    }
    const told = await api.client.patch(mysqlBackups, key(), { status }, { subresource: 'status' })
    expect([told.status, told.metadata.generation]).toEqual([status, 1])
    const { body } = await ask(api.access, {
      path: `/apis/regent.dev/v1alpha1/namespaces/${api.namespace}/mysqlbackups`,
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    })
    const { columnDefinitions, rows } = body as {
      readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[]
      readonly rows: readonly { readonly cells: readonly unknown[] }[]
    }
    const wide = columnDefinitions.map(({ priority }) => priority > 0)
    expect(columnDefinitions.filter((_, at) => !wide[at]).map(({ name }) => name)).toEqual([
      ...['Name', 'Cluster', 'Phase', 'Backup', 'Size', 'Stored', 'Took', 'Age', 'Verified'],
    ])
    expect(rows[0]?.cells.slice(0, 6)).toEqual([
      ...['nightly', 'shop', 'Succeeded', '20261126T031209Z', '3.0 MiB', '1.0 MiB'],
    ])
  })

  it('refuses a phase that there is not', async () => {
    await create({ cluster: 'shop' })
    await expect(
      api.client.patch(mysqlBackups, key(), { status: { phase: 'Perhaps' } }, { subresource: 'status' }),
    ).rejects.toEqual(refused('Unsupported value: "Perhaps"'))
  })
})

onApiServer('Backups in a MySQLCluster', (api) => {
  const create = (spec: object) => api.client.create(mysqlClusters, manifest(api.namespace, { ...smallest, ...spec }))
  const bucket = { address: 's3://backups/prod' }

  it('get the defaults that the code has, and say "never" where null would be filled in', async () => {
    const { spec } = await create({ backup: { store: bucket, schedule: 'never' } })
    expect(spec.backup).toMatchObject({
      ...{ schedule: 'never', timeZone: 'UTC', retention: { last: 3 }, archive: { everySeconds: 5 } },
      rehearsal: { schedule: '0 4 * * 0' },
    })
  })

  it.each([
    ['give either address, or claim', {}],
    ['give either address, or claim', { ...bucket, claim: 'backups' }],
    ['are for a bucket; a claim has none', { claim: 'backups', endpoint: 'https://s3.example' }],
    ['spec.backup.store.address in body should match', { address: '/srv/backups' }],
  ])('are refused with "%s", also while no webhook answers', async (message, store) => {
    await expect(create({ backup: { store } })).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining(message) as string,
    })
  })
})
