import { setTimeout as sleep } from 'node:timers/promises'
import type { ClusterView } from '#api-contract/views.ts'
import { RegentError } from '#common/errors/errors.ts'
import type { FoundCluster } from '#local/clusters/cluster-index.ts'
import { openLocal } from '#cli/connection/connect.ts'
import type { Io } from '#cli/terminal/io.ts'
import { teller, waitForManager } from './wait-until-writable.ts'

const lookEveryMs = 500
/** The manager of before may answer once more. */
const inARow = 2

/**
 * Waits until the cluster has so many instances and is whole, telling what Regent says it does meanwhile. Throws
 * `REGENT_TIMED_OUT` with what is missing.
 */
export async function waitUntilWhole(
  io: Io,
  { dir, cluster }: FoundCluster,
  { instances, deadlineMs }: { readonly instances: number; readonly deadlineMs: number },
): Promise<void> {
  const tell = teller(io)
  const signal = io.interrupted()
  const until = performance.now() + deadlineMs
  for (let times = 0; times < inARow;) {
    const view = await openLocal(dir, cluster)
      .then((client) => client.get<ClusterView>(`/clusters/${cluster.name}`, 5_000))
      .catch(waitForManager)
    const missing = view === undefined ? 'the manager does not answer' : whatIsMissing(view, instances)
    times = missing === '' ? times + 1 : 0
    if (missing !== '') tell(missing)
    if (performance.now() > until)
      throw new RegentError(
        'REGENT_TIMED_OUT',
        `${cluster.name} is not whole after ${Math.round(deadlineMs / 1_000)} s: ${missing}`,
      )
    await sleep(lookEveryMs, undefined, { signal }).catch(() => {
      throw new RegentError('REGENT_REFUSED', 'interrupted')
    })
  }
}

/** '' for nothing. The first problem tells most; without any the sentence tells what is under way. */
export function whatIsMissing(view: ClusterView, instances: number): string {
  if (view.instances.length !== instances) return `${view.instances.length} of ${instances} instances: ${view.sentence}`
  return view.whole ? '' : (view.problems[0]?.sentence ?? view.sentence)
}
