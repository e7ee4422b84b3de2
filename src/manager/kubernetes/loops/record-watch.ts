import type { Timer, Timers } from '#common/ports/ports.ts'
import type { InformerHandler, InformerPort } from '#controller-runtime/informers/informer-port.ts'
import type { ObjectKey } from '#controller-runtime/objects/objects.ts'
import type { ConfigMap } from '#controller-runtime/objects/config-map.ts'
import { namesOf } from '#kube/names/names.ts'

export interface WatchedRecord {
  readonly records: InformerPort<ConfigMap>
  readonly timers: Timers
  readonly cluster: ObjectKey
  /** The revision of the record as the cluster's loop knows it; 0 where the loop knows none. */
  readonly revision: () => number
  /** Somebody else changed or deleted it. */
  readonly meddled: () => void
}

/** A commit of ours is heard of before its answer came, or long after. */
const settleMs = 1_000

/**
 * Tells when a cluster's record is not the one its manager committed. Else nobody looks at it before the next commit,
 * and that may be the one that a dead primary waits for.
 * @returns what ends it
 */
export function watchRecord({ records, timers, cluster, revision, meddled }: WatchedRecord): () => void {
  const key = { namespace: cluster.namespace, name: namesOf(cluster.name).record }
  let settling: Timer | undefined

  function settled(): void {
    settling = undefined
    const kept = records.get(key)
    if ((kept === undefined ? 0 : Number(kept.data?.['revision'])) !== revision()) meddled()
  }

  function changed({ metadata }: ConfigMap): void {
    if (metadata.namespace === key.namespace && metadata.name === key.name) settling ??= timers.after(settleMs, settled)
  }

  const handler: InformerHandler<ConfigMap> = {
    added: changed,
    updated: (_before, after) => changed(after),
    deleted: changed,
  }
  const end = records.addHandler(handler)
  return () => {
    settling?.cancel()
    end()
  }
}
