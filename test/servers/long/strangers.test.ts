import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { replicationUser } from '#agents/ports/server.ts'
import { passwordFor } from '#common/mysql/account-password.ts'
import { readSecret } from '#local/folder/secrets.ts'
import type { ClusterView } from '#api-contract/views.ts'
import { deafenReplicas } from '#test/support/deaf-replicas.ts'
import { logOf } from '#test/support/instance-files.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { StrayReplica } from '#test/support/stray-replica.ts'
import { troublesOf } from '#test/support/troubles.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()
let stray: StrayReplica

beforeAll(async () => {
  stray = await StrayReplica.create()
})

afterAll(async () => {
  await stray.remove()
})

/** An account that somebody makes by hand for a replica of their own. */
async function accountByHand(user: string): Promise<{ readonly user: string; readonly password: string }> {
  const password = 'of tests only'
  await shop.current.sql('shop-0', `create user ${user} identified by '${password}'`)
  await shop.current.sql('shop-0', `grant replication slave on *.* to ${user}`)
  await shop.current.whole()
  return { user, password }
}

/** How often the log of `instance` says so. */
async function told(instance: string, words: RegExp): Promise<number> {
  return (await logOf(shop.current, instance)).split('\n').filter((line) => words.test(line)).length
}

async function reported(instance: string, words: RegExp): Promise<void> {
  await shop.current.until(
    `${instance} reports ${String(words)}`,
    async () => (await told(instance, words)) > 0,
    10_000,
  )
}

const isSettled = ({ instances }: ClusterView): boolean => !troublesOf(instances).includes('may have acknowledged')

it('Another server with the account and password of a counted replica is cut off and named, and the replica goes on counting', async () => {
  const cluster = shop.current
  const before = await cluster.whole()
  const writer = await Writer.start(cluster)
  const user = replicationUser('shop-1')
  await stray.acknowledge(cluster, 'shop-0', {
    user,
    password: passwordFor(await readSecret(cluster.layout.accountSecret), user),
  })
  await reported(
    'shop-0',
    new RegExp(
      `acknowledged with the account of shop-1 and is another server .its server_uuid is ${await stray.uuid()}`,
    ),
  )
  await stray.untilCutOff()
  await stray.stop()
  await cluster.waitFor('a marker was acknowledged without it', isSettled)
  const after = await cluster.whole()
  expect(after).toMatchObject({ revision: before.revision, syncSet: before.syncSet })
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('A counted replica that comes back with another server_uuid is let in again, since its primary is told', async () => {
  const cluster = shop.current
  const uuid = await cluster.value('shop-1', 'select @@server_uuid')
  await rm(join((await cluster.instance('shop-1')).volume, 'data', 'auto.cnf'))
  await cluster.fault('shop-1', 'kill-mysqld')
  const renewed = await cluster.until('shop-1 has another uuid', async () => {
    const now = await cluster.value('shop-1', 'select @@server_uuid').catch(() => uuid)
    return now !== uuid && now
  })
  await cluster.whole()
  const connection =
    "select processlist_id from performance_schema.threads where processlist_user = 'regent_r_1' and processlist_command like 'Binlog Dump%'"
  const first = await cluster.value('shop-0', connection)
  await sleep(1_500)
  expect(await cluster.value('shop-0', connection)).toBe(first)
  expect(await told('shop-0', new RegExp(`another server .its server_uuid is ${renewed}`))).toBeLessThanOrEqual(1)
})

it('A stranger’s replica that acknowledges is cut off, and its primary is in doubt until a replica of its own has acknowledged a marker', async () => {
  const cluster = shop.current
  const login = await accountByHand('reporting')
  const deaf = await deafenReplicas(cluster)
  await stray.acknowledge(cluster, 'shop-0', login)
  await reported('shop-0', /reporting@\S+ acknowledged without being counted; its connection is ended/)
  await stray.untilCutOff()
  await stray.stop()
  await cluster.waitFor('it is in doubt', (view) => !isSettled(view))
  await sleep(1_000)
  expect(isSettled(await cluster.view())).toBe(false)
  await deaf.end()
  await cluster.waitFor('a marker was acknowledged', isSettled)
  await cluster.whole()
})

it('No write is lost that only a stranger’s replica had acknowledged when the primary was killed', async () => {
  const cluster = shop.current
  // The same sentence twice in a row is one notice, so it is another account.
  const login = await accountByHand('auditing')
  const writer = await Writer.start(cluster)
  const deaf = await deafenReplicas(cluster)
  await cluster.until(
    'no replica acknowledges',
    async () =>
      (await cluster.value(
        'shop-0',
        "select count(*) from performance_schema.threads where processlist_command like 'Binlog Dump%'",
      )) === '0',
  )
  const deafSinceMs = monotonicMs()
  await stray.acknowledge(cluster, 'shop-0', login)
  await reported('shop-0', /auditing@\S+ acknowledged without being counted/)
  // An agent cuts it off before it has acknowledged anything; it connects again a second later.
  await cluster.fault('shop-0', 'freeze-agent')
  await cluster.until('the stranger acknowledged a write', async () => writer.since(deafSinceMs).length > 0, 60_000)
  const atMs = await cluster.fault('shop-0', 'kill-mysqld')
  await cluster.fault('shop-0', 'thaw-agent')
  await stray.stop()
  await deaf.end()
  await writer.next(atMs)
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
