import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from 'mysql2/promise'
import { expect, it } from 'vitest'
import { routerAddress, readCluster } from '#local/folder/cluster-file.ts'
import { processesOf } from '#local/processes/cluster-processes.ts'
import { logOf } from '#test/support/instance-files.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { patienceMs } from '#test/support/patience.ts'
import { routedCluster } from '#test/support/routed-cluster.ts'
import { openSession, queryWithin } from '#test/support/sql-session.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({ flags: ['--router'] })
const kept = { lost: [], duplicated: [], differing: [] }

async function session(kind: 'writes' | 'reads'): Promise<Connection> {
  const cluster = shop.current
  const { host, writePort, readPort } = routerAddress(await readCluster(cluster.layout.dir))
  const port = kind === 'writes' ? writePort : readPort
  return openSession({ host, port, ...(await cluster.login('client')) }, patienceMs)
}

/** The address of the server behind a new session. */
async function serverBehind(kind: 'writes' | 'reads'): Promise<string> {
  const one = await session(kind)
  const [row] = await queryWithin(one, 'select @@report_host as host', patienceMs)
  one.destroy()
  return String(row?.['host'])
}

async function hostOf(instance: string): Promise<string> {
  return (await shop.current.instance(instance)).host
}

async function pidOf(kind: 'router' | 'haproxy'): Promise<number> {
  const found = (await processesOf(shop.current.layout.dir)).find((one) => one.kind === kind)
  if (found === undefined) throw new Error(`there is no ${kind}`)
  return found.identity.pid
}

/** Without the primary that the test just killed. */
async function anotherPrimary(than: string): Promise<string> {
  const { primary } = await shop.current.waitFor('another primary', (view) => view.primary !== than && view.writable)
  return primary ?? ''
}

it('Writes go on through one address after a kill and after a switchover, and none is lost', async () => {
  const cluster = shop.current
  await cluster.whole()
  expect(await serverBehind('writes')).toBe(await hostOf(await cluster.primary()))
  const writer = await Writer.start(routedCluster(cluster))
  const from = await cluster.primary()
  await cluster.fault(from, 'kill-mysqld')
  const next = await anotherPrimary(from)
  await writer.next(monotonicMs())
  expect(await serverBehind('writes')).toBe(await hostOf(next))
  await cluster.whole()
  await cluster.switchover()
  await writer.next(monotonicMs())
  expect(await serverBehind('writes')).toBe(await hostOf(await cluster.primary()))
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ ...kept, instances: 3 })
})

it('Reads go to replicas, and to none that is fenced', async () => {
  const cluster = shop.current
  await cluster.whole()
  const [first = '', second = ''] = await cluster.replicas()
  const hosts = async () => {
    const seen = await Promise.all(Array.from({ length: 6 }, () => serverBehind('reads')))
    return [...new Set(seen)].toSorted().join()
  }
  const both = [await hostOf(first), await hostOf(second)].toSorted().join()
  await cluster.until('reads go to both replicas', async () => (await hosts()) === both)
  await cluster.operate('fence', { instance: first })
  const rest = await hostOf(second)
  await cluster.until('reads leave the fenced one', async () => (await hosts()) === rest)
  await cluster.operate('unfence', { instance: first })
  await cluster.whole()
})

it('Without a manager the router follows the agents', async () => {
  const cluster = shop.current
  await cluster.whole()
  const { managerPid } = await cluster.status()
  await cluster.signalManager('SIGSTOP')
  try {
    const router = await pidOf('router')
    process.kill(router, 'SIGKILL')
    await cluster.until('another router', async () => (await pidOf('router').catch(() => router)) !== router)
    await cluster.until('agents name the primary', async () =>
      /is the primary of epoch \d+ by 2 agents"}\s/.test(await tailOf()),
    )
    expect(await serverBehind('writes')).toBe(await hostOf(await publishedPrimary()))
  } finally {
    process.kill(managerPid ?? 0, 'SIGCONT')
  }
  await cluster.whole()
})

it('A router that was stopped during a failover leads no write to the old primary when it wakes', async () => {
  const cluster = shop.current
  await cluster.whole()
  const from = await cluster.primary()
  const writer = await Writer.start(routedCluster(cluster))
  const router = await pidOf('router')
  process.kill(router, 'SIGSTOP')
  await cluster.fault(from, 'kill-mysqld')
  const next = await anotherPrimary(from)
  // The old primary is there again, and HAProxy still leads there.
  await cluster.whole()
  await sleep(2_000)
  const wokeMs = monotonicMs()
  process.kill(router, 'SIGCONT')
  await writer.next(wokeMs)
  expect(await serverBehind('writes')).toBe(await hostOf(next))
  // One write by two primaries would be a difference between the instances.
  expect(await writer.check()).toMatchObject({ ...kept, instances: 3 })
})

it('A killed HAProxy is started again, and led to the same primary', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(routedCluster(cluster))
  const before = await pidOf('haproxy')
  process.kill(before, 'SIGKILL')
  await cluster.until('another HAProxy', async () => (await pidOf('haproxy').catch(() => before)) !== before)
  await writer.next(monotonicMs())
  expect(await serverBehind('writes')).toBe(await hostOf(await cluster.primary()))
  expect(await writer.check()).toMatchObject({ ...kept, instances: 3 })
})

it('A session waits for a primary, and is told in a sentence when none comes', async () => {
  const cluster = shop.current
  const primary = await cluster.primary()
  await cluster.operate('fence', { instance: primary, keepPrimary: true })
  await cluster.until('the router holds sessions', async () => /sessions wait: [^"]*"}\s*$/.test(await tailOf()))
  const askedMs = monotonicMs()
  const refused = await serverBehind('writes').catch((error: unknown) => error)
  expect(refused).toMatchObject({
    errno: 1040,
    message: expect.stringContaining('no primary of shop takes writes') as string,
  })
  expect(monotonicMs() - askedMs).toBeGreaterThan(1_900)
  const waiting = cluster.until('a session is let in', () => serverBehind('writes').catch(() => undefined))
  await cluster.operate('unfence', { instance: primary })
  expect(await waiting).toBe(await hostOf(primary))
  await cluster.whole()
})

it('A scale-in that takes the primary away goes on through the router', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  // An election of before may have chosen shop-2 already.
  if (primary !== 'shop-2') await cluster.switchover({ to: 'shop-2' })
  await cluster.whole()
  const writer = await Writer.start(routedCluster(cluster))
  await cluster.scale(2)
  await writer.next(monotonicMs())
  expect(await serverBehind('writes')).toBe(await hostOf(await cluster.primary()))
  await cluster.whole(2)
  expect(await writer.check()).toMatchObject({ ...kept, instances: 2 })
})

function tailOf(): Promise<string> {
  return logOf(shop.current, 'router').then((text) => text.split('\n').slice(-3).join('\n'))
}

async function publishedPrimary(): Promise<string> {
  const { primary } = JSON.parse(await readFile(shop.current.layout.routes, 'utf8')) as {
    primary: { instance: string }
  }
  return primary.instance
}
