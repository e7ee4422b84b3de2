import { readFile } from 'node:fs/promises'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import type { AgentView } from '#api-contract/agent-view.ts'
import { renderTimeline } from '#cli/commands/views/recovery-tables.ts'
import { paintFor } from '#cli/terminal/paint.ts'
import { renderTopology } from '#cli/commands/views/topology-tree.ts'
import { lastLines } from '#local/logs/log-tail.ts'
import { logPath, volumeOf } from '#local/folder/state-layout.ts'
import type { TestCluster } from './cluster.ts'

const linesPerLog = 12
const factsShown = 25
const complaintsShown = 30

/** Everything a person would ask first about a cluster on which a test failed, one line each. */
export async function diagnose(cluster: TestCluster): Promise<readonly string[]> {
  const parts = [topology, reasons, lastRecoveries, learnt, acknowledging, complaints, logs].map((part) =>
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

async function lastRecoveries(cluster: TestCluster): Promise<readonly string[]> {
  const newest = (await cluster.recoveries()).slice(0, 3)
  return newest.length === 0 ? ['no recovery'] : newest.toReversed().flatMap((one) => [...renderTimeline(one), ''])
}

/** What each agent got to know last. */
async function learnt(cluster: TestCluster): Promise<readonly string[]> {
  const views = await cluster.get<readonly AgentView[]>('/agents')
  return views.flatMap(({ instance, failure, facts }) => [
    `${instance}: ${failure === '' ? `${facts.length} facts` : failure}`,
    ...facts.slice(-factsShown).map(({ agoMs, fact, detail }) => `  ${Math.round(agoMs)} ms ago ${fact} ${detail}`),
  ])
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

/** What each mysqld complained of last, and each of its ends and starts. */
async function complaints(cluster: TestCluster): Promise<readonly string[]> {
  const { instances } = await cluster.status()
  const told = instances.map(async ({ name }) => {
    const { errorLog } = volumeLayout(volumeOf(cluster.layout, name))
    const lines = (await readFile(errorLog, 'utf8')).split('\n').filter((line) => complaint.test(line))
    return lines.slice(-complaintsShown).map((line) => `${name}: ${shortened(line)}`)
  })
  return (await Promise.all(told)).flat()
}

const complaint = /\[(Warning|ERROR|System)\]|signal|Assertion/i

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
