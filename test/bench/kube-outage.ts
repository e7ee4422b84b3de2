import { setTimeout as sleep } from 'node:timers/promises'
import { labels } from '#kube/names/names.ts'
import { agentContainer } from '#kube/pods/pod-template.ts'
import type { KubeCluster } from '../e2e/kube-cluster.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import type { CaseResult } from './report.ts'

/** All pods may be pulled up one after the other on a busy machine, and a group is formed after the last one. */
const writesAgainMs = 600_000

/**
 * All pods of a cluster are deleted at once, without a grace period: no server and no agent is left. Counted are the
 * outage of the client, how much of it came after the last agent's container began (Kubernetes tells that to the
 * second), and how many epochs it took: one, where a group is formed once.
 */
export async function measureOutage(
  cluster: KubeCluster,
  { runs, restMs }: { readonly runs: number; readonly restMs: number },
): Promise<CaseResult> {
  const outages: number[] = []
  const sinceAgents: number[] = []
  const epochs: number[] = []
  const writer = await Writer.start(cluster, { table: 'bench_all_pods', lifeMs: 14_400_000 })
  try {
    for (let run = 1; run <= runs; run++) {
      await cluster.whole(3, writesAgainMs)
      await sleep(restMs)
      const { epoch } = await cluster.view()
      const [atMs, wallMs] = [monotonicMs(), Date.now()]
      await cluster.kubectl('delete', 'pods', '--selector', ofCluster(cluster), '--grace-period=0', '--force')
      await lastAgentBegan(cluster, wallMs)
      await writer.next(undefined, { deadlineMs: writesAgainMs })
      const { pauseMs, sinceMs } = writer.longestPause(atMs)
      const againWallMs = wallMs + (sinceMs + pauseMs - atMs)
      outages.push(pauseMs)
      sinceAgents.push(againWallMs - (await lastAgentBegan(cluster, wallMs)))
      await cluster.whole(3, writesAgainMs)
      epochs.push((await cluster.view()).epoch - epoch)
      const recoveries = (await cluster.recoveries())
        .filter(({ startedWallMs }) => startedWallMs >= wallMs)
        .toReversed()
      process.stderr.write(
        `  all-pods ${run}/${runs}: ${Math.round(pauseMs)} ms, ${Math.round(sinceAgents.at(-1) ?? Number.NaN)} of them after the last agent began; ` +
          `epochs: ${recoveries.map((one) => `${one.toEpoch} ${one.kind} (${one.analysis}) ${one.outcome}`).join(', ')}\n`,
      )
    }
    const { lost, acknowledged } = await writer.check()
    const samples = new Map([
      ['outage seen by the client', outages],
      ['after the last agent began', sinceAgents],
      ['epochs (a count)', epochs],
    ])
    return { name: 'all-pods', unit: 'ms', samples, lost: lost.length, acknowledged }
  } finally {
    await writer.stop()
  }
}

/** Wall clock time at which the container of the last agent began; waits until all three began after `sinceMs`. */
function lastAgentBegan(cluster: KubeCluster, sinceMs: number): Promise<number> {
  const path = `{range .items[*].status['initContainerStatuses','containerStatuses'][?(@.name=="${agentContainer}")]}{.state.running.startedAt}{"\\n"}{end}`
  return cluster.until(
    () => 'three agents that began anew',
    async () => {
      const words = ['get', 'pods', '--selector', ofCluster(cluster), '--output', `jsonpath=${path}`]
      const began = (await cluster.kubectl(...words)).split('\n').filter((text) => text !== '')
      const times = began.map((text) => Date.parse(text)).filter((ms) => ms >= sinceMs - 1_000)
      return times.length === 3 && Math.max(...times)
    },
    writesAgainMs,
  )
}

function ofCluster({ name }: KubeCluster): string {
  return `${labels.cluster}=${name}`
}
