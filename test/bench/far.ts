import type { TestCluster } from '#test/support/cluster.ts'
import { Strangers } from '#test/support/strangers.ts'
import { runCase } from './cases.ts'
import type { MhaRuns } from './mha-runs.ts'
import { joined, type CaseResult } from './report.ts'

export interface FarOptions {
  /** What happens to the primary's mysqld. */
  readonly event: 'kill' | 'freeze'
  readonly runs: number
  readonly told: (line: string) => void
}

/**
 * Kills or freezes the primary of three servers of somebody else, which agents reach by SQL and SSH.
 *
 * @param mha fails over after each of Regent's failovers, on servers of its own; Regent's are at rest then
 */
export async function measureFar(options: FarOptions, mha?: MhaRuns): Promise<readonly CaseResult[]> {
  const strangers = await Strangers.start()
  let cluster: TestCluster | undefined
  try {
    cluster = await strangers.manage()
    await cluster.whole()
    const results = mha === undefined ? [await failedOver(cluster, options)] : await inTurn(cluster, options, mha)
    return [{ ...joined(results), name: `${options.event}, far agents` }, ...(mha?.results ?? [])]
  } finally {
    await cluster?.letGo()
    await strangers.end()
  }
}

async function inTurn(cluster: TestCluster, options: FarOptions, mha: MhaRuns): Promise<readonly CaseResult[]> {
  const { runs, told } = options
  const results: CaseResult[] = []
  for (let run = 1; run <= runs; run++) {
    const one = { ...options, runs: 1, told: (line: string) => told(line.replace('1/1', `${run}/${runs}`)) }
    results.push(await failedOver(cluster, one))
    await mha.round(run, runs)
  }
  return results
}

async function failedOver(cluster: TestCluster, { event, runs, told }: FarOptions): Promise<CaseResult> {
  return joined(await runCase(cluster, event, { runs, told, router: false }))
}
