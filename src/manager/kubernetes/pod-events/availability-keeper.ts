import type { Clock } from '#common/ports/ports.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyText, type KubeObject, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import { isObjectName, ownerPlaceOf, type Owner, type OwnerPlace } from '#kube/pod-events/component.ts'
import { decideAvailability } from '#kube/pod-events/decide-availability.ts'
import type { PodDecision } from '#kube/pod-events/decision.ts'
import { topicOf } from '#kube/pod-events/handlers.ts'
import { marks } from '#kube/pod-events/marks.ts'
import { happenedMicros, type PodEvent } from '#kube/pod-events/pod-event.ts'
import { pods } from '#kube/pods/stateful-set.ts'
import { readMembers, readOwner } from './component-objects.ts'

export interface Judged {
  readonly owner: KubeObject
  readonly decision: PodDecision
}

/** So many pods of a component are asked for their owner: the newest may be gone. */
const mostAsked = 3

/**
 * Judges whether components are available. What their pods said is in the cache of Events, so a manager that starts
 * knows as much as the one before, and nothing is written but the condition.
 */
export class AvailabilityKeeper {
  readonly #client: Pick<KubeClient, 'get' | 'list'>
  readonly #clock: Clock
  /** Where the owner of a component is: its Events are gone after an hour, its condition is not. */
  readonly #places = new Map<string, OwnerPlace>()

  constructor(client: Pick<KubeClient, 'get' | 'list'>, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  /**
   * @param events all that the API server still has of the component
   * @returns undefined where the component has no owner, or nobody asks whether it is available
   */
  async judge(component: ObjectKey, events: readonly PodEvent[], signal: AbortSignal): Promise<Judged | undefined> {
    const found = await this.#find(component, events, signal)
    if (found === undefined) return undefined
    const { owner } = found
    const words = events.filter((event) => topicOf(event) === 'availability')
    const { annotations = {} } = owner.metadata
    if (words.length === 0 && !(marks.availability in annotations) && !(marks.available in annotations))
      return undefined
    const members = await readMembers(this.#client, owner, signal)
    const decision = decideAvailability({ ...found, pods: members, events: words, nowMs: this.#clock.wallMs() })
    return { owner, decision }
  }

  async #find(component: ObjectKey, events: readonly PodEvent[], signal: AbortSignal): Promise<Found | undefined> {
    const key = keyText(component)
    const known = this.#places.get(key)
    const owner = known && (await readOwner(this.#client, known, signal))
    if (known && owner) return { place: known, owner }
    this.#places.delete(key)
    for (const name of podsIn(events)) {
      const pod = await this.#client.get(pods, { namespace: component.namespace, name }, { signal })
      const place = pod && ownerPlaceOf(pod)
      const its = place && (await readOwner(this.#client, place, signal))
      if (place === undefined || its === undefined) continue
      this.#places.set(key, place)
      return { place, owner: its }
    }
    return undefined
  }
}

interface Found {
  readonly place: OwnerPlace
  readonly owner: Owner
}

/** The pods that were heard of last. */
function podsIn(events: readonly PodEvent[]): readonly string[] {
  const newest = events.toSorted((one, other) => Number(happenedMicros(other) - happenedMicros(one)))
  const names = newest.map(({ involvedObject }) => involvedObject?.name ?? '').filter(isObjectName)
  return [...new Set(names)].slice(0, mostAsked)
}
