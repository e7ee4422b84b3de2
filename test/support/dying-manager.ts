import { setImmediate as immediate } from 'node:timers/promises'
import { freshState, StoredStateFile } from '#agents/instance/stored-state.ts'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { realDisk } from '#common/ports/real-world.ts'
import { supervisorStatus } from '#local/supervisor/background.ts'
import { askSupervisor } from '#local/supervisor/control.ts'
import { volumeOf } from '#local/folder/state-layout.ts'
import { managerProcess } from '#local/supervisor/supervisor.ts'
import { fileStore } from '#store/file.ts'
import type { TestCluster } from './cluster.ts'
import { monotonicMs } from './monotonic.ts'

/** What a manager is killed in. */
export interface ManagerScene {
  readonly pids: Pids
  readonly next: number
  readonly replicas: readonly string[]
}

/** Agents of those that are frozen give no promise, so that the manager waits for it. */
export interface ManagerStep {
  readonly freeze: (replicas: readonly string[]) => readonly string[]
  readonly soFar: (cluster: TestCluster, next: number, replicas: readonly string[]) => Promise<boolean>
}

export async function recordOf(cluster: TestCluster): Promise<ClusterRecord> {
  const record = await fileStore(cluster.layout.records).readRecord(cluster.name)
  if (record === undefined) throw new Error('there is no record')
  return record
}

/** The epoch that an agent has promised on its disk. */
export async function promiseOf(cluster: TestCluster, name: string): Promise<number> {
  const { stateFile } = volumeLayout(volumeOf(cluster.layout, name))
  return (await StoredStateFile.open(realDisk, stateFile, () => freshState('', ''))).current.promise
}

export interface Pids {
  readonly manager: number
  readonly mysqld: (instance: string) => number
  readonly agent: (instance: string) => number
}

/** Asked for beforehand: from the moment of freezing everything happens within what the manager waits for an agent. */
export async function pidsOf(cluster: TestCluster): Promise<Pids> {
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
export async function killManagerAt(
  { freeze, soFar }: ManagerStep,
  cluster: TestCluster,
  { pids, next, replicas }: ManagerScene,
  begin: () => void,
): Promise<ClusterRecord> {
  const until = monotonicMs() + 180_000
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
export async function startManager(cluster: TestCluster, killed: number): Promise<void> {
  const { layout } = cluster
  await cluster.until('the supervisor sees the end of the manager', async () =>
    (await supervisorStatus(layout))?.some(({ name, identity }) => name === managerProcess && identity?.pid !== killed),
  )
  await askSupervisor(layout.control, { command: 'start', process: managerProcess }, 10_000)
}
