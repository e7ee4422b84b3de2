import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { keyOf } from '#controller-runtime/objects/objects.ts'
import { manager } from '#kube/names/manager-names.ts'
import { fieldManager, namesOf } from '#kube/names/names.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { isOfCluster } from '#kube/spec/owned.ts'

export interface RouterAuthorityParts {
  readonly client: Pick<KubeClient, 'get' | 'patch'>
  readonly managerAuthority: () => string
}

/**
 * Tells the routers of a cluster of which nothing else is applied (paused, or applied once) whom to trust as a manager:
 * certificates come due there, too.
 */
export async function keepRouterAuthority(
  { client, managerAuthority }: RouterAuthorityParts,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<void> {
  if (cluster.spec.router === undefined) return
  const { name } = cluster.metadata
  const key = { ...keyOf(cluster), name: namesOf(name).router }
  const found = await client.get(configMaps, key, { signal })
  const ca = managerAuthority()
  if (found === undefined || !isOfCluster(name, found) || found.data?.[manager.caKey] === ca) return
  await client.patch(configMaps, key, { data: { [manager.caKey]: ca } }, { fieldManager, signal })
}
