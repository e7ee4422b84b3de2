import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { keyOf, keyText, type KubeObject, type OwnerReference } from '#controller-runtime/objects/objects.ts'
import type { MySQLCluster } from './mysql-cluster.ts'
import { commonLabels, group, labels, version } from '../names/names.ts'

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

/**
 * Whether an object is of that cluster: a `MySQLCluster` of that name owns it, or its label says so. The label is how a
 * person gives an object to a cluster, and what Secrets and orphans keep when their cluster is deleted.
 */
export function isOfCluster(cluster: string, { metadata }: KubeObject): boolean {
  const owners = metadata.ownerReferences ?? []
  const isOwner = ({ apiVersion, kind, name }: OwnerReference): boolean =>
    kind === 'MySQLCluster' && name === cluster && apiVersion.startsWith(`${group}/`)
  return owners.some(isOwner) || metadata.labels?.[labels.cluster] === cluster
}

/** Objects of somebody else have names that a cluster needs. Nothing of them is changed or deleted. */
export function foreign(cluster: string, objects: readonly KubeObject[]): RegentError {
  const named = objects.map((object) => `${object.kind} ${keyText(keyOf(object))}`).join(', ')
  const [is, it, its] = objects.length === 1 ? ['is', 'it', 'its'] : ['are', 'them', 'their']
  const handOver = say`to hand ${it} over, set the label ${labels.cluster}=${cluster} on ${it}`
  const why = say`${named} ${is} not of MySQLCluster ${cluster}, which needs ${its} name: nothing of ${it} is changed`
  return new RegentError(
    'REGENT_REFUSED',
    say`${why}. Give the MySQLCluster another name, or delete ${it}; ${handOver}`,
  )
}
