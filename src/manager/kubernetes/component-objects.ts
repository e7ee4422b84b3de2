import type { KubeClient } from '../../controller-runtime/client/kube-client.ts'
import { isMember, ownerPlaceOf, selectorOf, type Owner, type OwnerPlace } from '../../kube/pod-events/component.ts'
import { pods, type Pod } from '../../kube/pods/stateful-set.ts'

/** The objects of a component, as etcd has them now. */
export interface ComponentObjects {
  /** Undefined where the pod is gone. */
  readonly pod: Pod | undefined
  /** Undefined where nothing known made the pod, or where that is gone. */
  readonly place: OwnerPlace | undefined
  readonly owner: Owner | undefined
  /** The owner's other pods. */
  readonly peers: readonly Pod[]
}

/**
 * Reads the pod of that name, what made it, and that one's other pods. Never from a cache: a manager that kept all pods
 * of a cluster in memory for the few that have an agent would be dear.
 */
export async function readComponent(
  client: Pick<KubeClient, 'get' | 'list'>,
  namespace: string,
  podName: string,
  signal: AbortSignal,
): Promise<ComponentObjects> {
  const pod = podName === '' ? undefined : await client.get(pods, { namespace, name: podName }, { signal })
  const place = pod && ownerPlaceOf(pod)
  const found = place && (await client.get(place.resource, place.key, { signal }))
  const owner = found && (place.uid === undefined || place.uid === found.metadata.uid) ? found : undefined
  return { pod, place, owner, peers: owner && pod ? await peersOf(client, owner, pod, signal) : [] }
}

async function peersOf(
  client: Pick<KubeClient, 'list'>,
  owner: Owner,
  pod: Pod,
  signal: AbortSignal,
): Promise<readonly Pod[]> {
  const labelSelector = selectorOf(owner)
  if (labelSelector === undefined) return []
  const { items } = await client.list(pods, { namespace: owner.metadata.namespace ?? '', labelSelector, signal })
  return items.filter((peer) => peer.metadata.uid !== pod.metadata.uid && isMember(peer, owner))
}
