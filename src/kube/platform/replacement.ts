import { describeError, RegentError } from '../../common/errors/errors.ts'
import { deleteObject } from '../../controller-runtime/changes/delete-object.ts'
import type { DeleteOptions, KubeClient } from '../../controller-runtime/client/kube-client.ts'
import type { KubeObject, ObjectKey, Resource } from '../../controller-runtime/objects/objects.ts'
import { claimOf, pods, volumeClaims } from '../pods/stateful-set.ts'

/**
 * Deletes the claim of an instance and then its pod; the StatefulSet makes both anew. The claim first: it stays until
 * its pod is gone, and meanwhile the set makes no pod that would take it again. The other way round the new pod could
 * be there before the claim is deleted, on the volume that was given up.
 * @param isSilent nobody answers in the pod: it is forgotten at once, since the kubelet that would have to end it may
 * be gone
 */
export async function giveUp(
  client: Pick<KubeClient, 'get' | 'delete'>,
  instance: ObjectKey,
  isSilent: boolean,
): Promise<void> {
  await deleteThis(client, volumeClaims, { ...instance, name: claimOf(instance.name) })
  try {
    await deleteThis(client, pods, instance, isSilent ? { gracePeriodSeconds: 0 } : {})
  } catch (error) {
    throw new RegentError(
      'REGENT_KUBE_API',
      `the claim of ${instance.name} goes with its pod, and the pod could not be deleted: ${describeError(error)}. Ask again`,
      { cause: error },
    )
  }
}

async function deleteThis<Kind extends KubeObject>(
  client: Pick<KubeClient, 'get' | 'delete'>,
  resource: Resource<Kind>,
  key: ObjectKey,
  options: DeleteOptions = {},
): Promise<void> {
  const found = await client.get(resource, key)
  if (found !== undefined) await deleteObject(client, resource, found, options)
}
