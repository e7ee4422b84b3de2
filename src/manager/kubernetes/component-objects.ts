import type { KubeClient } from '../../controller-runtime/client/kube-client.ts'
import { isMember, ownerPlaceOf, selectorOf, type Owner, type OwnerPlace } from '../../kube/pod-events/component.ts'
import { pods, type Pod } from '../../kube/pods/stateful-set.ts'

/** The objects of a component, as etcd has them now. */
export interface ComponentObjects {
  /** Undefined where the pod is gone. */
  readonly pod: Pod | undefined
  /** Undefined where nothing known made the pod. */
  readonly place: OwnerPlace | undefined
  /** Undefined where that is gone. */
  readonly owner: Owner | undefined
  /** The owner's other pods. */
  readonly peers: readonly Pod[]
}

type Reader = Pick<KubeClient, 'get' | 'list'>

/**
 * Reads what made a pod, and that one's other pods. Never from a cache: a manager that kept all pods of a cluster in
 * memory for the few that have an agent would be dear.
 */
export async function readComponent(
  client: Reader,
  pod: Pod | undefined,
  signal: AbortSignal,
): Promise<ComponentObjects> {
  const place = pod && ownerPlaceOf(pod)
  const owner = place && (await readOwner(client, place, signal))
  const members = owner ? await readMembers(client, owner, signal) : []
  return { pod, place, owner, peers: members.filter(({ metadata }) => metadata.uid !== pod?.metadata.uid) }
}

/** Undefined where it is gone, or another of its name is there. */
export async function readOwner(
  client: Reader,
  { resource, key, uid }: OwnerPlace,
  signal: AbortSignal,
): Promise<Owner | undefined> {
  const found = await client.get(resource, key, { signal })
  return uid === undefined || uid === found?.metadata.uid ? found : undefined
}

/** Its pods; none where it selects by no label. */
export async function readMembers(client: Reader, owner: Owner, signal: AbortSignal): Promise<readonly Pod[]> {
  const labelSelector = selectorOf(owner)
  if (labelSelector === undefined) return []
  const { items } = await client.list(pods, { namespace: owner.metadata.namespace ?? '', labelSelector, signal })
  return items.filter((pod) => isMember(pod, owner))
}
