import { rssOf } from './process-cost.ts'
import type { TestCluster } from '../support/cluster.ts'

const lookMs = 100

/** The most memory that each agent takes while `work` goes on, in MB. */
export async function mostMemoryWhile(cluster: TestCluster, work: () => Promise<unknown>): Promise<readonly number[]> {
  const agents = await Promise.all(
    [await cluster.primary(), ...(await cluster.replicas())].map(
      async (name) => (await cluster.instance(name)).agentPid,
    ),
  )
  const pids = agents.filter((pid): pid is number => pid !== null && pid !== undefined)
  const most = pids.map(() => 0)
  const look = async (): Promise<void> => {
    for (const [at, pid] of pids.entries()) most[at] = Math.max(most[at] ?? 0, await rssOf(pid))
  }
  let isOver = false
  const looking = (async () => {
    while (!isOver) {
      await look()
      await new Promise((resolve) => setTimeout(resolve, lookMs))
    }
  })()
  try {
    await work()
  } finally {
    isOver = true
    await looking
  }
  return most
}
