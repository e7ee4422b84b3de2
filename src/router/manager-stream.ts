import { setTimeout as sleep } from 'node:timers/promises'
import type { ClusterView } from '#api-contract/views.ts'
import type { ApiClient } from '#cli/connection/api-client.ts'

const againMs = 500

/**
 * Follows what the manager shows of a cluster, until `signal` aborts; null whenever the stream ends. A manager that is
 * frozen says nothing new: whoever is the primary by an old record must be confirmed by its own agent all the same.
 */
export async function followRecord(
  openManager: () => Promise<ApiClient>,
  cluster: string,
  { signal, heard }: { readonly signal: AbortSignal; readonly heard: (view: ClusterView | null) => void },
): Promise<void> {
  while (!signal.aborted) {
    try {
      const client = await openManager()
      for await (const event of client.events(`/clusters/${cluster}/events`, signal))
        heard(JSON.parse(event) as ClusterView)
    } catch {
      // No manager answers: the agents tell.
    }
    heard(null)
    await sleep(againMs, undefined, { signal }).catch(() => undefined)
  }
}
