import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { mysqlPort } from '#kube/objects/services.ts'
import { expectBelow } from '../support/expect-below.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { patienceMs } from '../support/patience.ts'
import { openSession, queryWithin } from '../support/sql-session.ts'
import { Writer } from '../support/writer.ts'
import type { KubeCluster } from './kube-cluster.ts'
import {
  routerHost,
  routerPods,
  routersReady,
  scaleManagers,
  throughRouter,
  withoutManagers,
} from './through-router.ts'
import { expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

const routed = withKubeCluster({ name: 'routed', spec: { router: { drainMs: 5_000 } } })

async function serverBehind(cluster: KubeCluster, port: number): Promise<string> {
  const session = await openSession(
    { host: await routerHost(cluster), port, ...(await cluster.login('client')) },
    patienceMs,
  )
  const [row] = await queryWithin(session, 'select @@report_host as host', patienceMs)
  session.destroy()
  return String(row?.['host'])
}

beforeAll(async () => routersReady(routed.current), 200_000)
afterAll(async () => scaleManagers(routed.current, 2))

it('The routers stand on different nodes, and lead writes to the primary and reads to replicas', async () => {
  const cluster = routed.current
  const routers = await routerPods(cluster)
  expect(new Set(routers.map(({ spec }) => spec?.nodeName)).size).toBe(2)
  const hostOf = async (name: string) => (await cluster.pod(name)).status?.podIP
  expect(await serverBehind(cluster, 3306)).toBe(await hostOf(await cluster.primary()))
  const replicas = await Promise.all((await cluster.replicas()).map(hostOf))
  for (let time = 0; time < 4; time += 1) expect(replicas).toContain(await serverBehind(cluster, 3307))
})

it('mysqld of the primary is killed, and a switchover: writes go on through one address', async () => {
  const cluster = routed.current
  const writer = await Writer.start(throughRouter(cluster))
  const before = await cluster.primary()
  const killedMs = monotonicMs()
  await cluster.killMysqld(before)
  await cluster.otherPrimary(before)
  expectBelow(5_000, await outageSince(writer, 'mysqld killed, through the router', killedMs))
  await cluster.whole()
  const switchedMs = monotonicMs()
  await cluster.regent('switchover', cluster.name, '--to', before)
  expectBelow(5_000, await outageSince(writer, 'switchover, through the router', switchedMs))
  await cluster.whole()
  await expectNothingLost(writer)
})

it('Without any manager routers go on, and new ones find the primary by the agents', async () => {
  const cluster = routed.current
  const writer = await Writer.start(throughRouter(cluster))
  const host = (await cluster.pod(await cluster.primary())).status?.podIP
  await withoutManagers(cluster, async () => {
    const goneMs = monotonicMs()
    await writer.next(goneMs, { deadlineMs: patienceMs })
    const old = (await routerPods(cluster)).map(({ metadata }) => metadata.name)
    await cluster.kubectl('rollout', 'restart', 'deployment', `${cluster.name}-router`)
    await cluster.kubectl('rollout', 'status', 'deployment', `${cluster.name}-router`, '--timeout', '120s')
    await cluster.until(
      () => 'the routers from before are gone',
      async () => (await routerPods(cluster)).every(({ metadata }) => !old.includes(metadata.name)),
      120_000,
    )
    expect(await serverBehind(cluster, 3306)).toBe(host)
    const [one] = await routerPods(cluster)
    expect(await cluster.kubectl('logs', one?.metadata.name ?? '')).toMatch(/is the primary of epoch \d+ by 2 agents/)
    await writer.next(monotonicMs(), { deadlineMs: patienceMs })
  })
  await expectNothingLost(writer)
})

it('A router that ends lets its sessions go on for a while, and takes no more', async () => {
  const cluster = routed.current
  const sessions = await Promise.all(
    Array.from({ length: 8 }, async () =>
      openSession({ host: await routerHost(cluster), port: mysqlPort, ...(await cluster.login('client')) }, patienceMs),
    ),
  )
  const [first] = await routerPods(cluster)
  await cluster.kubectl('delete', 'pod', first?.metadata.name ?? '', '--wait=false')
  await sleep(2_000)
  const answers = await Promise.allSettled(sessions.map((one) => queryWithin(one, 'select 1', patienceMs)))
  expect(answers.map(({ status }) => status)).toEqual(sessions.map(() => 'fulfilled'))
  for (const one of sessions) one.destroy()
  await routersReady(cluster)
})
