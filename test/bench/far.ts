import type { TestCluster } from '#test/support/cluster.ts'
import { Strangers } from '#test/support/strangers.ts'
import { runCase } from './cases.ts'
import type { MhaRuns } from './mha-runs.ts'
import { joined, type CaseResult } from './report.ts'

type Told = (line: string) => void

/**
 * Kills the primary of three servers of somebody else, which agents reach by SQL and SSH.
 *
 * @param mha fails over after each of Regent's failovers, on servers of its own; Regent's are at rest then
 */
export async function measureFar(runs: number, told: Told, mha?: MhaRuns): Promise<readonly CaseResult[]> {
  const strangers = await Strangers.start()
  let cluster: TestCluster | undefined
  try {
    cluster = await strangers.manage()
    await cluster.whole()
    const results = mha === undefined ? [await killed(cluster, runs, told)] : await inTurn(cluster, runs, { told, mha })
    return [{ ...joined(results), name: 'kill, far agents' }, ...(mha?.results ?? [])]
  } finally {
    await cluster?.letGo()
    await strangers.end()
  }
}

async function inTurn(
  cluster: TestCluster,
  runs: number,
  { told, mha }: { readonly told: Told; readonly mha: MhaRuns },
): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = []
  for (let run = 1; run <= runs; run++) {
    results.push(await killed(cluster, 1, (line) => told(line.replace('1/1', `${run}/${runs}`))))
    await mha.round(run, runs)
  }
  return results
}

async function killed(cluster: TestCluster, runs: number, told: Told): Promise<CaseResult> {
  return joined(await runCase(cluster, 'kill', { runs, told, router: false }))
}
