import { renderTimeline } from '#cli/commands/recovery-tables.ts'
import { paintFor } from '#cli/terminal/paint.ts'
import { renderTopology } from '#cli/commands/topology-tree.ts'
import { lastLines } from '#local/logs/log-tail.ts'
import { logPath } from '#local/folder/state-layout.ts'
import type { TestCluster } from './cluster.ts'

const linesPerLog = 12

/** Everything a person would ask first about a cluster on which a test failed, one line each. */
export async function diagnose(cluster: TestCluster): Promise<readonly string[]> {
  const parts = [topology, reasons, lastRecovery, logs].map((part) =>
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
