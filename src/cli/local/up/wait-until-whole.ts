import { setTimeout as sleep } from 'node:timers/promises'
import type { ClusterView } from '#api-contract/views.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { FoundCluster } from '#local/clusters/cluster-index.ts'
import { openLocal } from '#cli/connection/connect.ts'
import type { Io } from '#cli/terminal/io.ts'
import { teller, toldOf, waitForManager, type Told } from './wait-until-writable.ts'

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
    const missing = view === undefined ? { sentence: 'the manager does not answer' } : whatIsMissing(view, instances)
    times = missing === undefined ? times + 1 : 0
    if (missing !== undefined) tell(missing)
    if (performance.now() > until)
      throw new RegentError(
        'REGENT_TIMED_OUT',
        say`${cluster.name} is not whole after ${Math.round(deadlineMs / 1_000)} s: ${missing?.sentence ?? say`whole for a moment only`}`,
      )
    await sleep(lookEveryMs, undefined, { signal }).catch(() => {
      throw new RegentError('REGENT_REFUSED', say`interrupted`)
    })
  }
}

/** The first problem tells most; without any the sentence tells what is under way. */
export function whatIsMissing(view: ClusterView, instances: number): Told | undefined {
  const there = `${view.instances.length} of ${instances} instances`
  if (view.instances.length !== instances)
    return { sentence: `${there}: ${view.sentence}`, news: `${there}: ${view.news}` }
  const [problem] = view.problems
  return view.whole ? undefined : problem === undefined ? view : toldOf(problem)
}
