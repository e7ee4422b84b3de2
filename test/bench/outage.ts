import { setTimeout as sleep } from 'node:timers/promises'
import type { TestCluster } from '../support/cluster.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import type { CaseResult } from './report.ts'

const restMs = 1_000
const deadlineMs = 120_000

interface OutageOptions {
  readonly runs: number
  readonly told: (line: string) => void
}

/** Every server and every agent is killed at once, and started again: when a write is taken, and epochs that began. */
export async function measureOutage(cluster: TestCluster, { runs, told }: OutageOptions): Promise<CaseResult> {
  const names = [await cluster.primary(), ...(await cluster.replicas())]
  const writer = await Writer.start(cluster, { table: 'bench_outage', lifeMs: 3_600_000 })
  const samples = { firstWrite: [] as number[], whole: [] as number[], epochs: [] as number[] }
  try {
    for (let run = 1; run <= runs; run++) {
      await sleep(restMs)
      const { epoch } = await cluster.whole(names.length, deadlineMs)
      await Promise.all(names.map((name) => cluster.fault(name, 'kill')))
      const startedMs = Math.max(...(await Promise.all(names.map((name) => cluster.fault(name, 'start')))))
      const { ackedMs } = await writer.next(startedMs, { deadlineMs })
      const whole = await cluster.whole(names.length, deadlineMs)
      samples.firstWrite.push(ackedMs - startedMs)
      samples.whole.push(monotonicMs() - startedMs)
      samples.epochs.push((whole.epoch ?? NaN) - (epoch ?? NaN))
      told(
        `outage ${run}/${runs}: first write after ${Math.round(ackedMs - startedMs)} ms, epoch ${epoch} → ${whole.epoch}`,
      )
    }
    const { lost, acknowledged } = await writer.check()
    return {
      name: 'outage',
      unit: '',
      samples: new Map([
        ['first write after the last start, ms', samples.firstWrite],
        ['whole again, ms', samples.whole],
        ['epochs begun', samples.epochs],
      ]),
      lost: lost.length,
      acknowledged,
    }
  } finally {
    await writer.stop()
  }
}
