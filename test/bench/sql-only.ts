import { setTimeout as sleep } from 'node:timers/promises'
import type { TestCluster } from '#test/support/cluster.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Strangers } from '#test/support/strangers.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'
import type { CaseResult } from './report.ts'

const restMs = 2_000

/**
 * Kills the primary of three servers that nothing but SQL reaches, where any loss is accepted. Each run has servers of
 * its own: what the dead one alone has would stay there, and nobody copies a far server.
 */
export async function measureSqlOnly(runs: number, told: (line: string) => void): Promise<CaseResult> {
  const outages: number[] = []
  const losses: number[] = []
  let acknowledged = 0
  for (let run = 1; run <= runs; run++) {
    const strangers = await Strangers.start({ ssh: false, start: false, failover: { acceptLoss: 'always' } })
    let cluster: TestCluster | undefined
    try {
      cluster = await strangers.manage()
      await cluster.whole()
      const writer = await Writer.start(cluster)
      await sleep(restMs)
      const dead = await cluster.primary()
      const killedMs = monotonicMs()
      await strangers.hostOf(dead).kill()
      const outageMs = await writer.outageSince(killedMs)
      const check = await writer.check(dead)
      outages.push(outageMs)
      losses.push(check.lost.length)
      acknowledged += check.acknowledged
      told(`kill ${run}/${runs}: ${Math.round(outageMs)} ms, lost ${check.lost.length}`)
    } finally {
      await stopWriters()
      await cluster?.letGo()
      await strangers.end()
    }
  }
  const samples = new Map([
    ['outage seen by the client', outages],
    ['writes lost, by run', losses],
  ])
  const lost = losses.reduce((sum, one) => sum + one, 0)
  return { name: 'kill, far agents without SSH', unit: 'ms', samples, lost, acknowledged }
}
