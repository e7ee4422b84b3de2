import type { Clock } from '#common/ports/ports.ts'
import { say, type Said } from '#common/sentence/sentence.ts'
import type { InformerPort } from '#controller-runtime/informers/informer-port.ts'
import { isConflict, isNotFound } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyOf, keyText, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import { annotations, fieldManager } from '#kube/names/names.ts'
import { isOfEarlierSet, lostLabels } from '#kube/pods/set-pods.ts'
import { pods as podResource, statefulSets, type Pod, type StatefulSet } from '#kube/pods/stateful-set.ts'
import { instanceName } from '#topology/snapshot/member.ts'

export interface PodKeeperParts {
  /** Writes only while this manager leads. */
  readonly client: KubeClient
  readonly clock: Clock
  readonly pods: InformerPort<Pod>
  /** What somebody else had changed is as it was again. */
  readonly putRight: (key: ObjectKey, sentence: string) => void
}

export interface Kept {
  /** Pods of before that must be gone first; '' where there are none. */
  readonly sentence: Said
  /** When the pods are to be looked at again, though nothing changed. */
  readonly requeueAfterMs?: number
}

/** The set makes a pod anew within milliseconds, unless it has failed to so often that it waits. */
const patienceMs = 2_000
const mostPatienceMs = 60_000
const nothing: Kept = { sentence: '' }

interface Found {
  readonly name: string
  readonly pod: Pod | undefined
}

interface Missing {
  readonly uid: string | undefined
  readonly sinceMs: number
  readonly patienceMs: number
}

/**
 * Looks after what the set's controller does not: pods whose labels somebody took away, which the set then lets go of
 * and no Service finds; and pods that it does not make although it could. A pod that could not be made is tried again
 * after up to 1,000 s, and the end of a pod of an earlier set of the same name wakes nobody.
 */
export class PodKeeper {
  readonly #parts: PodKeeperParts
  readonly #missing = new Map<string, Missing>()

  constructor(parts: PodKeeperParts) {
    this.#parts = parts
  }

  async keep(cluster: string, set: StatefulSet | undefined, signal: AbortSignal): Promise<Kept> {
    if (set === undefined) return nothing
    const found = await this.#podsOf(cluster, set, signal)
    for (const { pod } of found) if (pod !== undefined) await this.#keepLabels(cluster, pod, signal)
    const missing = found.filter(({ pod }) => pod === undefined).map(({ name }) => name)
    const earlier = found.flatMap(({ pod }) =>
      pod !== undefined && isOfEarlierSet(pod, set) ? [pod.metadata.name] : [],
    )
    const requeueAfterMs = await this.#wake(set, missing, signal)
    return { sentence: sentenceOf(earlier), ...(requeueAfterMs !== undefined && { requeueAfterMs }) }
  }

  forget(key: ObjectKey): void {
    this.#missing.delete(keyText(key))
  }

  /**
   * A cache that selects by label has lost sight of one that lost its labels: where a pod is missing, etcd is asked.
   */
  async #podsOf(cluster: string, { metadata, spec }: StatefulSet, signal: AbortSignal): Promise<readonly Found[]> {
    const { namespace = '' } = metadata
    const names = Array.from({ length: spec.replicas ?? 0 }, (_, ordinal) => instanceName(cluster, ordinal))
    const { pods, client } = this.#parts
    const ask = async (key: ObjectKey) => pods.get(key) ?? (await client.get(podResource, key, { signal }))
    const look = async (name: string): Promise<Found> => ({ name, pod: await ask({ namespace, name }) })
    return Promise.all(names.map(look))
  }

  async #keepLabels(cluster: string, pod: Pod, signal: AbortSignal): Promise<void> {
    const lost = lostLabels(cluster, pod)
    if (Object.keys(lost).length === 0) return
    const { name, namespace = '', resourceVersion } = pod.metadata
    const patch = { metadata: { resourceVersion, labels: lost } }
    try {
      await this.#parts.client.patch(podResource, keyOf(pod), patch, { fieldManager, signal })
    } catch (error) {
      // Heard of, and looked at again.
      if (isConflict(error) || isNotFound(error)) return
      throw error
    }
    const words = Object.keys(lost).join(', ')
    this.#parts.putRight(
      { namespace, name: cluster },
      `pod ${name} had lost what its set and the Services know it by: ${words} put back`,
    )
  }

  /**
   * Touches the set while it does not make a pod that is missing: its controller looks at what is touched, whatever it
   * waits for.
   */
  async #wake(set: StatefulSet, names: readonly string[], signal: AbortSignal): Promise<number | undefined> {
    const text = keyText(keyOf(set))
    const { uid } = set.metadata
    const { clock, client } = this.#parts
    const nowMs = clock.monotonicMs()
    const known = this.#missing.get(text)
    if (names.length === 0) return void this.#missing.delete(text)
    const since = known !== undefined && known.uid === uid ? known : { uid, sinceMs: nowMs, patienceMs }
    const leftMs = since.sinceMs + since.patienceMs - nowMs
    this.#missing.set(text, since)
    if (leftMs > 0) return leftMs
    const patience = Math.min(mostPatienceMs, 2 * since.patienceMs)
    this.#missing.set(text, { uid, sinceMs: nowMs, patienceMs: patience })
    const touched = {
      metadata: { uid, annotations: { [annotations.lookedAt]: new Date(clock.wallMs()).toISOString() } },
    }
    await client.patch(statefulSets, keyOf(set), touched, { fieldManager, signal }).catch((error: unknown) => {
      if (!isNotFound(error) && !isConflict(error)) throw error
    })
    return patience
  }
}

function sentenceOf(earlier: readonly string[]): Said {
  if (earlier.length === 0) return ''
  const [it, they] = earlier.length === 1 ? ['pod', 'is'] : ['pods', 'are']
  return say`${it} ${earlier.join(', ')} of an earlier cluster of this name ${they} still ending; new ones are made when they are gone`
}
