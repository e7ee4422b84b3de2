import type { ObjectMeta } from '#controller-runtime/objects/objects.ts'
import type { ConfigMap } from '#controller-runtime/objects/config-map.ts'
import type { Pod } from '#kube/pods/stateful-set.ts'
import type { Secret } from '#kube/secrets/secrets.ts'
import { roughBytes } from '#controller-runtime/client/namespace-budget.ts'
import { probesVariable } from '#kube/pod-events/report-period.ts'

/**
 * What of each object a manager keeps in memory: no more than somebody here reads. A client that may write in a
 * namespace may write objects of 1 MB, with any label, thousands of them.
 */

/** Annotations and data of Regent's own, and certificates, are far smaller. */
const mostBytes = 64 * 1024
const mostAnnotationBytes = 8 * 1024

export function keptPod({ apiVersion, kind, metadata, spec, status }: Pod): Pod {
  if (spec === undefined) return { apiVersion, kind, metadata: keptMeta(metadata), ...(status && { status }) }
  const { nodeName, containers, volumes = [] } = spec
  const claims = volumes.filter(({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined)
  const named = containers.map(({ name, env = [] }) => ({
    name,
    env: env.filter((variable) => variable.name === probesVariable && (variable.value?.length ?? 0) < mostBytes),
  }))
  return {
    ...{ apiVersion, kind, metadata: keptMeta(metadata), ...(status && { status }) },
    spec: { ...(nodeName !== undefined && { nodeName }), containers: named, volumes: claims },
  }
}

/** Only the authorities among the Secrets of clusters are read from memory. */
export function keptSecret({ data, metadata, ...rest }: Secret): Secret {
  const isRead = metadata.name.endsWith('-ca') && roughBytes(data) <= mostBytes
  return { ...rest, metadata: keptMeta(metadata), ...(isRead && data && { data }) }
}

/** A record is kept as its revision alone. */
export function keptConfigMap({ apiVersion, kind, metadata, data }: ConfigMap): ConfigMap {
  const { revision } = data ?? {}
  const isRead = revision !== undefined && revision.length < 32
  return { apiVersion, kind, metadata: keptMeta(metadata), ...(isRead && { data: { revision } }) }
}

function keptMeta({ annotations, ...metadata }: ObjectMeta): ObjectMeta {
  const small = Object.entries(annotations ?? {}).filter(([, value]) => value.length <= mostAnnotationBytes)
  return { ...metadata, ...(annotations && { annotations: Object.fromEntries(small) }) }
}
