import type { TestCluster } from './cluster.ts'

/**
 * Replicas that run but receive nothing, so that the primary's writes wait for an acknowledgement that does not come.
 */
export interface DeafReplicas {
  /** Their agents wake up, and put it right. */
  end(): Promise<void>
}

/**
 * Stops what replicas receive with, every one unless some are named; their agents are frozen, or they would put it
 * right at once.
 */
export async function deafenReplicas(cluster: TestCluster, named?: readonly string[]): Promise<DeafReplicas> {
  const replicas = named ?? (await cluster.replicas())
  await Promise.all(replicas.map((name) => cluster.fault(name, 'freeze-agent')))
  await Promise.all(replicas.map((name) => cluster.sql(name, 'stop replica io_thread')))
  return {
    end: async () => {
      await Promise.all(replicas.map((name) => cluster.fault(name, 'thaw-agent')))
    },
  }
}

/** Waits until this many of the client's statements wait for an acknowledgement at the primary. */
export async function untilWaiting(cluster: TestCluster, primary: string, count: number): Promise<void> {
  const query =
    "select count(*) from performance_schema.threads where processlist_state like 'Waiting for semi-sync%' and processlist_user = 'client'"
  await cluster.until(`${count} writes wait`, async () => Number(await cluster.value(primary, query)) >= count)
}
