import { isConflict, isNotFound } from '../client/kube-api-error.ts'
import type { DeleteOptions, KubeClient } from '../client/kube-client.ts'
import { keyOf, type KubeObject, type Resource } from '../objects/objects.ts'

/**
 * Deletes that very object. Another one of its name is somebody else's decision: where it is gone or replaced by now,
 * nothing is left to do.
 */
export async function deleteObject<Kind extends KubeObject>(
  client: Pick<KubeClient, 'delete'>,
  resource: Resource<Kind>,
  object: Kind,
  options: DeleteOptions = {},
): Promise<void> {
  const { uid } = object.metadata
  await client
    .delete(resource, keyOf(object), { ...options, ...(uid !== undefined && { uid }) })
    .catch((error: unknown) => {
      if (!isNotFound(error) && !isConflict(error)) throw error
    })
}
