import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mysqlBackups, type MySQLBackup } from '#kube/backup/mysql-backup.ts'
import { mysqlClusters } from '#kube/spec/mysql-cluster.ts'
import { S3Server, usualLogin } from '../support/s3-server.ts'
import { findVersitygw } from '../support/versitygw.ts'
import { found, KubeCluster } from './kube-cluster.ts'
import { ownAddress } from './own-address.ts'
import { isOwnCluster } from './own-cluster.ts'

/** Pods reach the control plane's network, in which this runs: a store here is one outside of the cluster. */
const program = isOwnCluster ? await findVersitygw() : undefined

describe.skipIf(program === undefined)('A cluster with a store of backups', () => {
  const key = 'a1'.repeat(32)
  let server: S3Server
  const clusters: KubeCluster[] = []

  beforeAll(async () => {
    server = await S3Server.start(found(program, 'versitygw'), { host: ownAddress() })
    await server.makeBucket('backups')
  })
  afterAll(async () => {
    for (const cluster of clusters)
      await cluster.kubectl('delete', 'namespace', cluster.namespace, '--ignore-not-found', '--timeout', '100s')
    await server.end()
  }, 240_000)

  const store = () => ({
    ...{ address: 's3://backups/prod', endpoint: server.endpoint, pathStyle: true },
    ...{ credentialsSecret: 'store-login', encryption: { secret: 'store-key' } },
  })

  /** A namespace with what a store needs: a person brings the key, which lies in no backup. */
  async function inNamespace(namespace: string, name: string): Promise<KubeCluster> {
    const cluster = await KubeCluster.at(namespace, name)
    clusters.push(cluster)
    await cluster.kubectl('create', 'namespace', namespace)
    const literals = Object.entries(usualLogin).map(([word, text]) => `--from-literal=${word}=${text}`)
    await cluster.kubectl('create', 'secret', 'generic', 'store-login', ...literals)
    await cluster.kubectl('create', 'secret', 'generic', 'store-key', `--from-literal=key=${key}`)
    return cluster
  }

  it('is had back in another namespace, by what a MySQLBackup made of it, when its own is gone', async () => {
    const lost = await inNamespace('backed-up', 'shop')
    await lost.ensure({ instances: 2, backup: { store: store(), schedule: 'never', rehearsal: { schedule: 'never' } } })
    await lost.whole(2, 240_000)
    const primary = await lost.primary()
    await lost.sql(primary, 'create table app.orders (id int primary key, what varchar(64))')
    await lost.sql(primary, "insert into app.orders values (1, 'a chair'), (2, 'a table')")
    await lost.client.create(mysqlBackups, {
      apiVersion: 'regent.dev/v1alpha1',
      kind: 'MySQLBackup',
      metadata: { namespace: lost.namespace, name: 'before-the-fire' },
      spec: { cluster: lost.name },
    })
    const made = await ended(lost, 'before-the-fire')
    expect(made.status).toMatchObject({ phase: 'Succeeded', instance: expect.stringMatching(/^shop-/) as string })
    expect(await lost.kubectl('get', 'mysqlbackup', 'before-the-fire')).toMatch(
      /shop +Succeeded +\d{8}T\d{6}Z +[\d.]+ MiB/,
    )

    await lost.kubectl('delete', 'namespace', lost.namespace, '--timeout', '150s')

    const again = await inNamespace('had-back', 'market')
    const restore = { store: store(), of: 'backed-up/shop', backup: made.status?.backup }
    await again.ensure({ instances: 2, bootstrap: { restore } })
    await again.whole(2, 300_000)
    for (const instance of ['market-0', 'market-1'])
      expect(await again.value(instance, 'select group_concat(what order by id) from app.orders')).toBe(
        'a chair,a table',
      )
    // It is a new cluster: it has its own passwords, and takes writes.
    await again.sql(await again.primary(), "insert into app.orders values (3, 'a lamp')", { user: 'client' })
    // What a new cluster begins with is fixed once somebody has led it.
    await expect(again.change({ bootstrap: { restore: { ...restore, of: 'backed-up/other' } } })).rejects.toThrow(
      'has had a primary',
    )
    const { spec } = found(
      await again.client.get(mysqlClusters, { namespace: again.namespace, name: again.name }),
      'a cluster',
    )
    expect(spec.bootstrap?.restore?.of).toBe('backed-up/shop')
  }, 900_000)
})

/** Waits until a backup has ended, well or not. */
function ended(cluster: KubeCluster, name: string): Promise<MySQLBackup> {
  return cluster.until(
    () => `the end of MySQLBackup ${name}`,
    async () => {
      const now = await cluster.client.get(mysqlBackups, { namespace: cluster.namespace, name })
      return now?.status?.phase === 'Succeeded' || now?.status?.phase === 'Failed' ? now : undefined
    },
    240_000,
  )
}
