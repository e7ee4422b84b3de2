import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { readRoute } from '#local/platform/routes.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import {
  killManagerAt,
  pidsOf,
  promiseOf,
  recordOf,
  startManager,
  type ManagerStep,
} from '#test/support/dying-manager.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const shop = withCluster()

interface Committing extends ManagerStep {
  readonly committed: boolean
}

const isPublished = async ({ layout }: TestCluster, epoch: number) => (await readRoute(layout.routes))?.epoch === epoch
const isCommitted = async (cluster: TestCluster, epoch: number) => (await recordOf(cluster)).epoch === epoch

it('Writes go on without a manager', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const { managerPid } = await cluster.status()
  await cluster.signalManager('SIGSTOP')
  // Longer than the lease: the agents keep it among themselves.
  await sleep(7_500)
  await writer.next(monotonicMs())
  process.kill(managerPid ?? 0, 'SIGCONT')
  await cluster.whole()
  expectBelow(5_000, writer.longestPause().pauseMs)
  expect(await cluster.view()).toMatchObject({ primary: 'shop-0', epoch: 1 })
  expect(await writer.check()).toMatchObject({ lost: [], differing: [], instances: 3 })
})

describe('A failover ends well under the next manager, when its manager is killed', () => {
  const steps: Readonly<Record<string, Committing>> = {
    'before anybody promised': {
      freeze: (replicas) => replicas,
      soFar: async ({ views }, next) => views.latest?.sentence.includes(`to promise epoch ${next}`) === true,
      committed: false,
    },
    'when one of two replicas has promised': {
      freeze: (replicas) => replicas.slice(1),
      soFar: async (cluster, next, [first = '']) => (await promiseOf(cluster, first)) === next,
      committed: false,
    },
    'when it has committed': { freeze: () => [], soFar: isCommitted, committed: true },
    'when the route has moved': { freeze: () => [], soFar: isPublished, committed: true },
  }
  it.each(Object.entries(steps))('%s', async (_, step) => {
    const { committed } = step
    const cluster = shop.current
    const { primary, epoch } = await cluster.whole()
    const from = primary ?? ''
    const replicas = await cluster.replicas()
    const writer = await Writer.start(cluster)
    const pids = await pidsOf(cluster)
    const faultMs = monotonicMs()
    const left = await killManagerAt(step, cluster, { pids, next: epoch + 1, replicas }, () =>
      process.kill(pids.mysqld(from), 'SIGKILL'),
    )
    expect(left.epoch).toBe(committed ? epoch + 1 : epoch)
    await startManager(cluster, pids.manager)
    expectBelow(15_000, await writer.outageSince(faultMs))
    const view = await cluster.whole()
    expect(view.primary).not.toBe(from)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
})

const runsLong =
  "select 1 from performance_schema.events_statements_current where sql_text = 'select sleep(10)' and end_event_id is null and timer_wait > 150000000000"

describe('A switchover is undone or done, never half, when its manager is killed', () => {
  const steps: Readonly<Record<string, Committing>> = {
    'when it has put its intent into the record': {
      freeze: (replicas) => replicas.slice(1),
      soFar: async (cluster) => (await recordOf(cluster)).intent?.kind === 'switchover',
      committed: false,
    },
    'while the primary is being demoted': {
      freeze: () => [],
      soFar: async ({ views }) => views.latest?.sentence.includes('stops taking writes') === true,
      committed: false,
    },
    'when it has committed': { freeze: () => [], soFar: isCommitted, committed: true },
  }
  it.each(Object.entries(steps))('%s', async (_, step) => {
    const { committed } = step
    const cluster = shop.current
    const { primary, epoch } = await cluster.whole()
    const from = primary ?? ''
    const replicas = await cluster.replicas()
    const [to = ''] = replicas
    const writer = await Writer.start(cluster)
    const pids = await pidsOf(cluster)
    // A statement that runs is given its grace, and the demotion lasts as long.
    const busy = await cluster.session(from, 'client')
    const asleep = busy.query('select sleep(10)').catch(() => undefined)
    // What has run for less than 100 ms is not given any.
    await cluster.until('it runs', async () => (await cluster.sql(from, runsLong)).length > 0)
    let asked: Promise<unknown> | undefined
    const left = await killManagerAt(step, cluster, { pids, next: epoch + 1, replicas }, () => {
      asked = cluster.switchover({ to }).catch((error: unknown) => error)
    })
    expect(left).toMatchObject(
      committed ? { epoch: epoch + 1, intent: null } : { epoch, intent: { kind: 'switchover' } },
    )
    await startManager(cluster, pids.manager)
    await asked
    expect(await cluster.whole()).toMatchObject({ primary: committed ? to : from })
    busy.destroy()
    await asleep
    await writer.next()
    expect((await cluster.explain()).record?.intent).toBeNull()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
})
