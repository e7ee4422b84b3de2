import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** Of two instances the only replica is needed for every write. */
const pair = withCluster({ name: 'pair', instances: 2 })

/** A session that was there before goes on whatever becomes of its account. */
async function endReplication(cluster: TestCluster, primary: string, user: string): Promise<void> {
  const id = await cluster.value(
    primary,
    `select max(processlist_id) from performance_schema.threads where processlist_user = '${user}' and processlist_command like 'Binlog Dump%'`,
  )
  await cluster.sql(primary, `kill ${id}`)
}

/** The command that an answer names; undefined for none. */
function commandIn(answer: string): string | undefined {
  const named = [...answer.matchAll(/use: regent ([a-z]+(?: --accept-loss)?)/g)].map(([, command]) => command)
  expect(new Set(named).size, answer).toBeLessThan(2)
  return named[0]
}

/** What people are told at one moment: never to use what was refused just now, nor to go from one to the other. */
async function asks(cluster: TestCluster): Promise<void> {
  const { sentence, wayOut = '' } = await cluster.explain()
  commandIn(`${sentence}\n${wayOut}`)
  const refusal = (operation: 'switchover' | 'failover') =>
    cluster.operate(operation, { dryRun: true }).then(
      () => '',
      ({ message }: Error) => message,
    )
  const [switchover, failover] = [await refusal('switchover'), await refusal('failover')].map(commandIn)
  expect(switchover).not.toBe('switchover')
  expect(failover).not.toBe('failover')
  expect([switchover, failover]).not.toEqual(['failover', 'switchover'])
}

it.each([
  ['has another password', "identified by 'Another-1'"],
  ['is locked', 'account lock'],
])(
  'Where the account of the only counted replica %s by another hand, that is put right within seconds, writes go on, and no two commands refer to each other',
  async (_, change) => {
    const cluster = pair.current
    const { primary } = await cluster.whole(2)
    const [replica = ''] = await cluster.replicas()
    const user = `regent_r_${replica.split('-').at(-1)}`
    const writer = await Writer.start(cluster)
    const since = (await logOf(cluster, primary!)).length
    await byHand(cluster, primary!, `alter user ${user} ${change}`)
    await endReplication(cluster, primary!, user)
    await cluster.until('the account is right', async () => {
      await asks(cluster)
      // A manager answers no more than 50 requests of one address within a second.
      await sleep(200)
      return isPutRight(cluster, primary!, user)
    })
    await cluster.whole(2)
    await writer.next()
    expect((await cluster.view()).primary).toBe(primary)
    expect((await logOf(cluster, primary!)).slice(since)).not.toContain('could not be put right')
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 2 })
  },
)

/** Its fingerprint is the one that was kept, and its gate is open. */
async function isPutRight(cluster: TestCluster, primary: string, user: string): Promise<boolean> {
  const found = await cluster.value(
    primary,
    `select count(*) from mysql.user u join regent.account a on a.user = u.user and a.fingerprint = sha2(u.authentication_string, 256) where u.user = '${user}' and u.account_locked = 'N'`,
  )
  return found === '1'
}
