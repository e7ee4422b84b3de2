import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { freshState, StoredStateFile } from '../../../agents/instance/stored-state.ts'
import { volumeLayout } from '../../../agents/instance/volume-layout.ts'
import type { ClusterRecord } from '../../../failover/protocol/record.ts'
import { realDisk } from '../../../src/common/ports/real-world.ts'
import { supervisorStatus } from '../../../src/local/supervisor/background.ts'
import { askSupervisor } from '../../../src/local/supervisor/control.ts'
import { readRoute } from '../../../src/local/platform/routes.ts'
import { volumeOf } from '../../../src/local/folder/state-layout.ts'
import { managerProcess } from '../../../src/local/supervisor/supervisor.ts'
import { fileStore } from '../../../src/store/file.ts'
import type { TestCluster } from '../../support/cluster.ts'
import { monotonicMs } from '../../support/monotonic.ts'
import { withCluster } from '../../support/with-cluster.ts'
import { Writer } from '../../support/writer.ts'

const shop = withCluster()

async function recordOf(cluster: TestCluster): Promise<ClusterRecord> {
  const record = await fileStore(cluster.layout.records).readRecord(cluster.name)
  if (record === undefined) throw new Error('there is no record')
  return record
}

/** The epoch that an agent has promised on its disk. */
async function promiseOf(cluster: TestCluster, name: string): Promise<number> {
  const { stateFile } = volumeLayout(volumeOf(cluster.layout, name))
  return (await StoredStateFile.open(realDisk, stateFile, () => freshState('', ''))).current.promise
}

const isPublished = async ({ layout }: TestCluster, epoch: number) => (await readRoute(layout.routes))?.epoch === epoch
const isCommitted = async (cluster: TestCluster, epoch: number) => (await recordOf(cluster)).epoch === epoch

interface Pids {
  readonly manager: number
  readonly mysqld: (instance: string) => number
  readonly agent: (instance: string) => number
}

/** Asked for beforehand: from the moment of freezing everything happens within what the manager waits for an agent. */
async function pidsOf(cluster: TestCluster): Promise<Pids> {
  const { managerPid, instances } = await cluster.status()
  const named = (instance: string) => instances.find(({ name }) => name === instance)
  return {
    manager: managerPid ?? 0,
    mysqld: (instance) => named(instance)?.pid ?? 0,
    agent: (instance) => named(instance)?.agentPid ?? 0,
  }
}

/**
 * Begins something, SIGKILLs the manager as soon as that has come so far, which may pass within milliseconds, and
 * resolves to the record that it left.
 */
async function killManagerAt(
  { freeze, soFar }: Step,
  cluster: TestCluster,
  { pids, next, replicas }: Scene,
  begin: () => void,
): Promise<ClusterRecord> {
  const until = monotonicMs() + 30_000
  const frozen = freeze(replicas).map((name) => pids.agent(name))
  for (const agent of frozen) process.kill(agent, 'SIGSTOP')
  try {
    begin()
    while (!(await soFar(cluster, next, replicas))) {
      if (monotonicMs() > until) throw new Error('the manager did not come so far')
      await immediate()
    }
    process.kill(pids.manager, 'SIGKILL')
    return await recordOf(cluster)
  } finally {
    for (const agent of frozen) process.kill(agent, 'SIGCONT')
  }
}

/** Without the supervisor's growing pause, unless that is over already. */
async function startManager(cluster: TestCluster, killed: number): Promise<void> {
  const { layout } = cluster
  await cluster.until('the supervisor sees the end of the manager', async () =>
    (await supervisorStatus(layout))?.some(({ name, identity }) => name === managerProcess && identity?.pid !== killed),
  )
  await askSupervisor(layout.control, { command: 'start', process: managerProcess }, 10_000)
}

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
  expect(writer.longestPause().pauseMs).toBeLessThan(5_000)
  expect(await cluster.view()).toMatchObject({ primary: 'shop-0', epoch: 1 })
  expect(await writer.check()).toMatchObject({ lost: [], differing: [], instances: 3 })
})

/** What a manager is killed in. */
interface Scene {
  readonly pids: Pids
  readonly next: number
  readonly replicas: readonly string[]
}

/** Agents of those that are frozen give no promise, so that the manager waits for it. */
interface Step {
  readonly freeze: (replicas: readonly string[]) => readonly string[]
  readonly soFar: (cluster: TestCluster, next: number, replicas: readonly string[]) => Promise<boolean>
  readonly committed: boolean
}

describe('A failover ends well under the next manager, when its manager is killed', () => {
  const steps: Readonly<Record<string, Step>> = {
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
    expect(await writer.outageSince(faultMs)).toBeLessThan(15_000)
    const view = await cluster.whole()
    expect(view.primary).not.toBe(from)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
})

const runsLong =
  "select 1 from performance_schema.events_statements_current where sql_text = 'select sleep(10)' and end_event_id is null and timer_wait > 150000000000"

describe('A switchover is undone or done, never half, when its manager is killed', () => {
  const steps: Readonly<Record<string, Step>> = {
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
