import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { listInPages } from '#controller-runtime/client/list-pages.ts'
import { firstMade, NamespaceBudget } from '#controller-runtime/client/namespace-budget.ts'
import { isMember, ownerPlaceOf, selectorOf, type Owner, type OwnerPlace } from '#kube/pod-events/component.ts'
import { pods, type Pod } from '#kube/pods/stateful-set.ts'
import { keptPod } from '../memory/kept.ts'

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
 * Reads the owner of a pod, and its other pods. Never from a cache: a manager that kept all pods of a cluster in
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

/** What the pods of one component may take of this process: some thousand pods. */
const membersBytes = 4 * 1024 * 1024

/** The pods of an owner; none where it selects by no label. Throws `REGENT_REFUSED` where they are too many. */
export async function readMembers(client: Reader, owner: Owner, signal: AbortSignal): Promise<readonly Pod[]> {
  const labelSelector = selectorOf(owner)
  if (labelSelector === undefined) return []
  const { namespace = '', name } = owner.metadata
  const over = () => {
    throw new RegentError(
      'REGENT_REFUSED',
      say`${owner.kind} ${namespace}/${name} has more pods than this manager looks at (${membersBytes / 1024 / 1024} MiB): nothing that they say of themselves counts`,
    )
  }
  const budget = new NamespaceBudget<Pod>({ bytesPerNamespace: membersBytes, rank: firstMade }, over)
  const keep = (pod: Pod) => (isMember(pod, owner) ? keptPod(pod) : undefined)
  return (await listInPages(client, pods, { namespace, labelSelector, keep, budget, signal })).objects
}
