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

  it('is had back in another namespace, up to a second, by a backup of its schedule, when its own is gone', async () => {
    const lost = await inNamespace('backed-up', 'shop')
    await lost.ensure({ instances: 2, backup: { store: store(), schedule: '*/10 * * * *' } })
    await lost.whole(2, 240_000)
    const primary = await lost.primary()
    await lost.sql(primary, 'create table app.orders (id int primary key, what varchar(64), at datetime(6))')
    const order = async (id: number, what: string) =>
      lost.sql(primary, `insert into app.orders values (${id}, '${what}', utc_timestamp(6))`)
    await order(1, 'a chair')

    // Nobody asks: the schedule makes the first backup at once, and the rehearsal that follows proves it.
    const verified = await lost.until(
      () => 'a MySQLBackup of the schedule that is verified',
      async () => (await backupsOf(lost)).find(({ status }) => status?.verified !== undefined),
      420_000,
    )
    expect(verified.spec).toMatchObject({ cluster: 'shop', backup: verified.status?.backup })
    expect(verified.status).toMatchObject({ phase: 'Succeeded', instance: expect.stringMatching(/^shop-/) as string })
    expect(await lost.kubectl('get', 'mysqlbackup', found(verified.metadata.name, 'a name'))).toMatch(
      /shop +Succeeded +\d{8}T\d{6}Z +[\d.]+ MiB/,
    )

    // What a person asks for is made beside.
    await lost.client.create(mysqlBackups, {
      apiVersion: 'regent.dev/v1alpha1',
      kind: 'MySQLBackup',
      metadata: { namespace: lost.namespace, name: 'before-the-fire' },
      spec: { cluster: lost.name },
    })
    expect((await ended(lost, 'before-the-fire')).status?.phase).toBe('Succeeded')
    expect(await lost.regent('backup', 'list', 'shop')).toContain(verified.status?.backup)

    await order(2, 'a table')
    const untilMs = await behindTheSecond(lost, primary)
    await order(3, 'a mistake')
    const kept = await lost.value(primary, ordersUntil(untilMs))
    expect(kept).toMatch(/^1 a chair .*,2 a table /)
    await lost.until(
      () => `a window that reaches ${timeOf(untilMs)}`,
      async () => (await windowEndMs(lost)) >= untilMs,
    )
    const dropped = await lost.regent('backup', 'find', 'shop', '--table', 'app.orders', '--kind', 'insert')
    expect(dropped.match(/insert/g)?.length).toBeGreaterThanOrEqual(2)

    await lost.kubectl('delete', 'namespace', lost.namespace, '--timeout', '150s')

    const again = await inNamespace('had-back', 'market')
    const restore = { store: store(), of: 'backed-up/shop', until: timeOf(untilMs) }
    await again.ensure({ instances: 2, bootstrap: { restore } })
    await again.whole(2, 300_000)
    const all = `select ${ordersShown} from app.orders`
    for (const instance of ['market-0', 'market-1']) expect(await again.value(instance, all)).toBe(kept)
    // It is a new cluster: it has its own passwords, and takes writes.
    await again.sql(await again.primary(), "insert into app.orders values (4, 'a lamp', now(6))", { user: 'client' })
    // What a new cluster begins with is fixed once somebody has led it.
    await expect(again.change({ bootstrap: { restore: { ...restore, of: 'backed-up/other' } } })).rejects.toThrow(
      'this one had a primary',
    )
    const { spec } = found(
      await again.client.get(mysqlClusters, { namespace: again.namespace, name: again.name }),
      'a cluster',
    )
    expect(spec.bootstrap?.restore?.of).toBe('backed-up/shop')
  }, 1_500_000)
})

const ordersShown = "group_concat(id, ' ', what, ' ', at order by id)"
const timeOf = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z')

/** The orders up to this moment, by the clock of the server that they were written to. */
function ordersUntil(ms: number): string {
  return `select ${ordersShown} from app.orders where at <= timestampadd(second, ${ms / 1_000}, '1970-01-01')`
}

/** The next second that begins by the clock of the server, once that second is over. */
async function behindTheSecond(cluster: KubeCluster, instance: string): Promise<number> {
  const now = async () => Number(await cluster.value(instance, 'select unix_timestamp()'))
  const second = (await now()) + 1
  await cluster.until(
    () => `a second behind ${second}`,
    async () => (await now()) > second,
  )
  return second * 1_000
}

/** As `kubectl regent backup window` tells. */
async function windowEndMs(cluster: KubeCluster): Promise<number> {
  const told = JSON.parse(await cluster.regent('backup', 'window', cluster.name, '-o', 'json')) as {
    readonly spans: readonly { readonly to: string }[]
  }
  return Math.max(0, ...told.spans.map(({ to }) => Date.parse(to)))
}

async function backupsOf(cluster: KubeCluster): Promise<readonly MySQLBackup[]> {
  const { items } = await cluster.client.list(mysqlBackups, { namespace: cluster.namespace })
  return items
}

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
