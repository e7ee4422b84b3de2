import { expect, it } from 'vitest'
import { readCluster, routerAddress } from '#local/folder/cluster-file.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { patienceMs } from '#test/support/patience.ts'
import { routedCluster } from '#test/support/routed-cluster.ts'
import { openSession, queryWithin } from '#test/support/sql-session.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({ spec: { mode: 'group' }, flags: ['--router'] })
const kept = { lost: [], duplicated: [], differing: [], instances: 3 }

/** The address of the server to which the router leads a session that writes. */
async function serverBehind(): Promise<string> {
  const cluster = shop.current
  const { host, writePort: port } = routerAddress(await readCluster(cluster.layout.dir))
  const session = await openSession({ host, port, ...(await cluster.login('client')) }, patienceMs)
  const [row] = await queryWithin(session, 'select @@report_host as host', patienceMs)
  session.destroy()
  return String(row?.['host'])
}

it('Writes of a group go on through the router after a kill and after a switchover', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(routedCluster(cluster))
  const from = await cluster.primary()
  const killedMs = monotonicMs()
  await cluster.fault(from, 'kill-mysqld')
  await cluster.waitFor('another primary', (view) => view.primary !== from && view.writable)
  await writer.next(monotonicMs())
  console.error(`    group, killed: writes paused for ${Math.round(writer.longestPause(killedMs).pauseMs)} ms`)
  expect(await serverBehind()).toBe((await cluster.instance(await cluster.primary())).host)
  await cluster.whole()
  await cluster.switchover()
  await writer.next(monotonicMs())
  expect(await serverBehind()).toBe((await cluster.instance(await cluster.primary())).host)
  await cluster.whole()
  expect(await writer.check()).toMatchObject(kept)
})

it('Without a manager the router leads to the primary that the group itself elected', async () => {
  const cluster = shop.current
  await cluster.whole()
  const { managerPid } = await cluster.status()
  const writer = await Writer.start(routedCluster(cluster))
  const from = await cluster.primary()
  const { host } = await cluster.instance(from)
  await cluster.signalManager('SIGSTOP')
  const killedMs = monotonicMs()
  try {
    await cluster.fault(from, 'kill-mysqld')
    await writer.next(monotonicMs())
    console.error(
      `    group, killed without a manager: writes paused for ${Math.round(writer.longestPause(killedMs).pauseMs)} ms`,
    )
    expect(await serverBehind()).not.toBe(host)
  } finally {
    process.kill(managerPid ?? 0, 'SIGCONT')
  }
  await cluster.whole()
  expect(await serverBehind()).toBe((await cluster.instance(await cluster.primary())).host)
  expect(await writer.check()).toMatchObject(kept)
})
