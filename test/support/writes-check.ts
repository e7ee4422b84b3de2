import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from './monotonic.ts'
import { patienceMs } from './patience.ts'
import type { Acknowledged } from './writer-wire.ts'
import type { WrittenCluster } from './written-cluster.ts'

/** What became of the writes that a client was told are safe. */
export interface WritesCheck {
  readonly acknowledged: number
  /** Acknowledged, and not on the primary. */
  readonly lost: readonly number[]
  /** On the primary more than once. */
  readonly duplicated: readonly number[]
  /** Instances that, having caught up, have other rows than the primary. */
  readonly differing: readonly string[]
  /** How many instances were read. */
  readonly instances: number
}

export interface CheckOptions {
  readonly deadlineMs?: number
  /** These instances are not read. */
  readonly but?: readonly string[]
}

/** What a client gave up waiting for may be written for so long after that client has stopped. */
const settlesMs = 60_000

/**
 * Reads `app.<table>` on every instance that runs, replicas once they hold what the primary had at the beginning. Reads
 * again where replicas differ and do not say that they have executed exactly what the primary has: rows of a write that
 * still waits for its acknowledgement are on replicas only.
 */
export async function checkWrites(
  cluster: WrittenCluster,
  table: string,
  acknowledged: readonly Acknowledged[],
  options: CheckOptions = {},
): Promise<WritesCheck> {
  const untilMs = monotonicMs() + settlesMs
  for (;;) {
    const { settled, ...check } = await readWrites(cluster, table, acknowledged, options)
    if (check.differing.length === 0 || settled || monotonicMs() > untilMs) return check
    await sleep(200)
  }
}

async function readWrites(
  cluster: WrittenCluster,
  table: string,
  acknowledged: readonly Acknowledged[],
  { deadlineMs = patienceMs, but = [] }: CheckOptions,
): Promise<WritesCheck & { readonly settled: boolean }> {
  const primary = await cluster.primary()
  const executed = await executedAt(cluster, primary)
  const ids = await idsOn(cluster, primary, table)
  const differing: string[] = []
  let settled = true
  const replicas = (await cluster.replicas()).filter((name) => !but.includes(name))
  for (const replica of replicas) {
    await caughtUp(cluster, replica, executed, deadlineMs)
    if (String(await idsOn(cluster, replica, table)) === String(ids)) continue
    differing.push(replica)
    settled &&= (await executedAt(cluster, replica)) === executed
  }
  settled &&= (await executedAt(cluster, primary)) === executed
  const there = new Set(ids)
  return {
    acknowledged: acknowledged.length,
    lost: acknowledged.map(({ id }) => id).filter((id) => !there.has(id)),
    duplicated: ids.filter((id, at) => id === ids[at - 1]),
    differing,
    instances: replicas.length + 1,
    settled,
  }
}

/** As MySQL prints the set, which is the same text for the same set. */
async function executedAt(cluster: WrittenCluster, instance: string): Promise<string> {
  return (await cluster.value(instance, 'select @@global.gtid_executed')).replaceAll('\n', '')
}

/** Throws what the replica lacks: rows of one that has not caught up say nothing. */
async function caughtUp(cluster: WrittenCluster, replica: string, executed: string, deadlineMs: number): Promise<void> {
  const [row] = await cluster.sql(
    replica,
    `select wait_for_executed_gtid_set('${executed}', ${deadlineMs / 1000}) as late, gtid_subtract('${executed}', @@global.gtid_executed) as lacks`,
    { deadlineMs: deadlineMs + 5_000 },
  )
  if (Number(row?.['late']) !== 0)
    throw new Error(`${replica} has not executed what the primary had ${deadlineMs} ms ago: ${String(row?.['lacks'])}`)
}

async function idsOn(cluster: WrittenCluster, instance: string, table: string): Promise<readonly number[]> {
  const rows = await cluster.sql(instance, `select id from app.${table} order by id`, { deadlineMs: patienceMs })
  return rows.map((row) => Number(row['id']))
}
