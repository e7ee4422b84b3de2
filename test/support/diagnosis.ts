import { renderTimeline } from '#cli/commands/views/recovery-tables.ts'
import { paintFor } from '#cli/terminal/paint.ts'
import { renderTopology } from '#cli/commands/views/topology-tree.ts'
import { lastLines } from '#local/logs/log-tail.ts'
import { logPath } from '#local/folder/state-layout.ts'
import type { TestCluster } from './cluster.ts'

const linesPerLog = 12

/** Everything a person would ask first about a cluster on which a test failed, one line each. */
export async function diagnose(cluster: TestCluster): Promise<readonly string[]> {
  const parts = [topology, reasons, lastRecovery, acknowledging, logs].map((part) =>
    part(cluster).catch((error: unknown) => [`(${part.name}: ${String(error)})`]),
  )
  return (await Promise.all(parts)).flatMap((lines) => [...lines, ''])
}

async function topology(cluster: TestCluster): Promise<readonly string[]> {
  return renderTopology(await cluster.topology(), paintFor(false))
}

async function reasons(cluster: TestCluster): Promise<readonly string[]> {
  const { reasons, analyses, record } = await cluster.explain()
  return [
    ...analyses.map(({ code, sentence }) => `${code}: ${sentence}`),
    ...reasons,
    `record: ${JSON.stringify(record)}`,
  ]
}

async function lastRecovery(cluster: TestCluster): Promise<readonly string[]> {
  const [newest] = await cluster.recoveries()
  return newest === undefined ? ['no recovery'] : renderTimeline(newest)
}

/** What writes and acknowledgements wait for, as each server says. */
async function acknowledging(cluster: TestCluster): Promise<readonly string[]> {
  const { instances } = await cluster.status()
  const told = instances.map(async ({ name }) => {
    const rows = await cluster
      .sql(name, waitsQuery)
      .catch((error: unknown): readonly Record<string, unknown>[] => [{ failed: String(error) }])
    return rows.map((row) => `${name} waits: ${JSON.stringify(row)}`)
  })
  return (await Promise.all(told)).flat()
}

const waitsQuery = `select name, processlist_id as id, processlist_user as user, processlist_command as command, processlist_state as state, left(processlist_info, 80) as statement
  from performance_schema.threads where name like '%semisync%' or processlist_command in ('Binlog Dump GTID', 'Query')`

async function logs(cluster: TestCluster): Promise<readonly string[]> {
  const { instances } = await cluster.status()
  const names = ['supervisor', 'manager', ...instances.map((instance) => instance.name)]
  const tails = await Promise.all(
    names.map(async (name) =>
      (await lastLines(logPath(cluster.layout, name), linesPerLog)).map((line) => `${name}: ${shortened(line)}`),
    ),
  )
  return tails.flat()
}

function shortened(line: string): string {
  return line.length > 400 ? `${line.slice(0, 400)}…` : line
}
