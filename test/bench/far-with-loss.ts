import { setTimeout as sleep } from 'node:timers/promises'
import type { TestCluster } from '#test/support/cluster.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Strangers, type StrangerHost } from '#test/support/strangers.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'
import type { CaseResult } from './report.ts'

const restMs = 2_000

export interface FarWithLossOptions {
  /** What happens to the primary: its mysqld is killed or frozen, or nothing passes to its host any more. */
  readonly event: 'kill' | 'freeze' | 'cut'
  /** Nothing but SQL reaches the servers. */
  readonly sqlOnly: boolean
  readonly runs: number
  readonly told: (line: string) => void
}

/**
 * Takes the primary away from servers of somebody else, where any loss is accepted: nobody can read what the primary
 * alone has. Each run has servers of its own, since what the lost one alone has would stay there.
 */
export async function measureFarWithLoss({ event, sqlOnly, runs, told }: FarWithLossOptions): Promise<CaseResult> {
  const outages: number[] = []
  const losses: number[] = []
  let acknowledged = 0
  for (let run = 1; run <= runs; run++) {
    const strangers = await Strangers.start({
      ...(sqlOnly ? ({ ssh: false, start: false } as const) : {}),
      ...(event === 'cut' ? ({ sqlRoads: true, ...(sqlOnly ? {} : { roads: true }) } as const) : {}),
      failover: { acceptLoss: 'always' },
    })
    let cluster: TestCluster | undefined
    try {
      cluster = await strangers.manage()
      await cluster.whole()
      const writer = await Writer.start(cluster)
      await sleep(restMs)
      const dead = await cluster.primary()
      const lostMs = monotonicMs()
      await lose(strangers.hostOf(dead), event)
      const outageMs = await writer.outageSince(lostMs)
      // What is frozen can be asked for nothing, and cannot be given back.
      if (event === 'freeze') await strangers.hostOf(dead).server.signal('SIGCONT')
      const check = await writer.check(dead)
      outages.push(outageMs)
      losses.push(check.lost.length)
      acknowledged += check.acknowledged
      told(`${event} ${run}/${runs}: ${Math.round(outageMs)} ms, lost ${check.lost.length}`)
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
  const name = `${event}, far agents${sqlOnly ? ' without SSH' : ''}`
  return { name, unit: 'ms', samples, lost, acknowledged }
}

async function lose(host: StrangerHost, event: FarWithLossOptions['event']): Promise<void> {
  if (event === 'kill') await host.kill()
  else if (event === 'freeze') await host.server.signal('SIGSTOP')
  else for (const road of [host.road, host.sqlRoad]) road?.hush()
}
