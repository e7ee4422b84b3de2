import { setTimeout as sleep } from 'node:timers/promises'
import { described } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { ApiReader } from '#cli/connection/api-reader.ts'
import { managerWordOf, type ManagerWord } from './manager-word.ts'
import { Reasons } from './reasons.ts'

const usuallyAgainMs = 500
/** A manager's stream says something every 2 s, also where nothing happens. */
const silentManagerMs = 5_000

export interface RecordListener {
  readonly signal: AbortSignal
  /** Called with null whenever the stream ends, and for an event that is not understood. */
  readonly heard: (word: ManagerWord | null) => void
  readonly warn: (sentence: Sentence) => void
  /** A stream that is silent for so long is over. */
  readonly silentMs?: number
  /** The pause before a stream is opened again. */
  readonly againMs?: number
}

/**
 * Follows the record of a cluster as a manager shows it, until `signal` aborts. A manager that is frozen says nothing
 * new. So an instance that is the primary by an old record must be confirmed by its own agent.
 */
export async function followRecord(
  openManager: () => Promise<ApiReader>,
  cluster: string,
  { signal, heard, warn, silentMs = silentManagerMs, againMs = usuallyAgainMs }: RecordListener,
): Promise<void> {
  const reasons = new Reasons()
  const take = (word: ManagerWord | null): void => {
    if (word === null) warn(notUnderstood(cluster))
    else reasons.forget(cluster)
    heard(word)
  }
  while (!signal.aborted) {
    try {
      const client = await openManager()
      for await (const event of client.events(`/clusters/${cluster}/events`, signal, silentMs))
        take(managerWordOf(event, cluster))
    } catch (error) {
      // The router then goes by the agents.
      const why = say`no manager of ${cluster} is heard: ${described(error)}`
      if (!signal.aborted && reasons.note(cluster, why)) warn(why)
    }
    heard(null)
    await sleep(againMs, undefined, { signal }).catch(() => undefined)
  }
}

function notUnderstood(cluster: string): Sentence {
  return say`what the manager says of ${cluster} is not understood: the router goes by the agents meanwhile`
}
