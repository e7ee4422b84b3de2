import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { listInPages } from '#controller-runtime/client/list-pages.ts'
import { keyOf } from '#controller-runtime/objects/objects.ts'
import { labels, namesOf, selectorTextOf } from '#kube/names/names.ts'
import { services } from '#kube/objects/services.ts'
import { pods } from '#kube/pods/stateful-set.ts'
import { moveReads } from '#kube/primary/read-labels.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'

/**
 * Before the Service of the replicas selects by another label than it did, as an older version made it: whoever gets
 * reads by the old one has the new label, too. Otherwise an upgrade would take all of them away for a moment.
 */
export async function keepReads(
  client: Pick<KubeClient, 'get' | 'list' | 'patch'>,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<void> {
  const { name } = cluster.metadata
  const live = await client.get(services, { ...keyOf(cluster), name: namesOf(name).replicas }, { signal })
  if (live === undefined || labels.reads in (live.spec.selector ?? {})) return
  const labelSelector = `${selectorTextOf(name)},${labels.role}=replica`
  const { objects } = await listInPages(client, pods, { ...keyOf(cluster), labelSelector })
  await moveReads(
    client,
    objects,
    objects.map(({ metadata }) => metadata.name),
    signal,
  )
}
