import type { KubeObject, OwnerReference } from '../../controller-runtime/objects/objects.ts'
import type { MySQLCluster } from './mysql-cluster.ts'
import { commonLabels, group, version } from '../names/names.ts'

/** An object that goes with its cluster: Kubernetes removes it once the cluster is deleted. */
export function ownedBy<Kind extends KubeObject>(cluster: MySQLCluster, object: Kind): Kind {
  const { metadata } = object
  const { name, namespace } = cluster.metadata
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(namespace !== undefined && { namespace }),
      labels: { ...metadata.labels, ...commonLabels(name) },
      ownerReferences: [ownerOf(cluster)],
    },
  }
}

export function ownerOf({ metadata }: MySQLCluster): OwnerReference {
  return {
    apiVersion: `${group}/${version}`,
    kind: 'MySQLCluster',
    name: metadata.name,
    uid: metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  }
}
