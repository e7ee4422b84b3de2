import { isNotFound } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyOf, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import { commonLabels, fieldManager, namesOf } from '#kube/names/names.ts'
import { isOfCluster } from '#kube/spec/owned.ts'
import { statefulSets } from '#kube/pods/stateful-set.ts'

/**
 * Gives a cluster's set the labels back by which managers look for it: without them no manager knows of any instance,
 * and nobody fails over. For a set that the cache does not have; whatever drift may be left alone, this may not.
 * @returns what was put back, in a sentence; '' where the set is not there, is another's, or has its labels
 */
export async function keepSetLabels(
  client: Pick<KubeClient, 'get' | 'patch'>,
  { namespace, name }: ObjectKey,
  signal: AbortSignal,
): Promise<string> {
  const key = { namespace, name: namesOf(name).statefulSet }
  const live = await client.get(statefulSets, key, { signal })
  if (live === undefined || live.metadata.deletionTimestamp !== undefined || !isOfCluster(name, live)) return ''
  const { uid, labels: worn = {} } = live.metadata
  const lost = Object.fromEntries(Object.entries(commonLabels(name)).filter(([label, value]) => worn[label] !== value))
  if (Object.keys(lost).length === 0) return ''
  try {
    await client.patch(statefulSets, keyOf(live), { metadata: { uid, labels: lost } }, { fieldManager, signal })
  } catch (error) {
    if (isNotFound(error)) return ''
    throw error
  }
  return `StatefulSet ${key.name} had lost what Regent knows it by: ${Object.keys(lost).join(', ')} put back`
}
