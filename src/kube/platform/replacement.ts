import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { deleteObject } from '#controller-runtime/changes/delete-object.ts'
import type { DeleteOptions, KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { KubeObject, ObjectKey, Resource } from '#controller-runtime/objects/objects.ts'
import { claimOf, pods, volumeClaims } from '../pods/stateful-set.ts'
import { foreign, isOfCluster } from '../spec/owned.ts'

/**
 * Deletes the claim of an instance and then its pod; the StatefulSet makes both anew. The claim first: it stays until
 * its pod is gone, and meanwhile the set makes no pod that would take it again. The other way round the new pod could
 * be there before the claim is deleted, on the volume that was given up.
 * @param isSilent nobody answers in the pod: it is forgotten at once, since the kubelet that would have to end it may
 * be gone
 */
export async function giveUp(
  client: Pick<KubeClient, 'get' | 'delete'>,
  { cluster, ...instance }: ObjectKey & { readonly cluster: string },
  isSilent: boolean,
): Promise<void> {
  const deleteThis = deleterOf(client, cluster)
  await deleteThis(volumeClaims, { ...instance, name: claimOf(instance.name) })
  try {
    await deleteThis(pods, instance, isSilent ? { gracePeriodSeconds: 0 } : {})
  } catch (error) {
    throw new RegentError(
      'REGENT_KUBE_API',
      say`the claim of ${instance.name} goes with its pod, and the pod could not be deleted: ${described(error)}. Ask again`,
      { cause: error },
    )
  }
}

/** Deletes what is of that cluster; throws `REGENT_REFUSED` where the name is of something else. */
function deleterOf(client: Pick<KubeClient, 'get' | 'delete'>, cluster: string) {
  return async <Kind extends KubeObject>(resource: Resource<Kind>, key: ObjectKey, options: DeleteOptions = {}) => {
    const found = await client.get(resource, key)
    if (found === undefined) return
    if (!isOfCluster(cluster, found)) throw foreign(cluster, [found])
    await deleteObject(client, resource, found, options)
  }
}
