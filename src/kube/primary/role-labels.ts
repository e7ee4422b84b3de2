import { isConflict, isNotFound } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyOf } from '#controller-runtime/objects/objects.ts'
import { epochOf } from './epoch.ts'
import { annotations, labels } from '../names/names.ts'
import { pods, type Pod } from '../pods/stateful-set.ts'

export interface Roles {
  readonly epoch: number
  readonly primary: string | null
  readonly replicas: readonly string[]
}

/**
 * Labels a cluster's pods with their roles: off the old primary, then on the new, never two. Each label carries the
 * epoch; whoever knows only an older one leaves it as it is, and so does one that somebody changed meanwhile (by
 * `resourceVersion`): it is looked at again when that change is heard of. While another pod's label as primary could
 * not be taken off, nobody else gets it.
 * @returns whether every label is as wanted now
 */
export async function moveRoles(
  client: Pick<KubeClient, 'patch'>,
  all: readonly Pod[],
  roles: Roles,
  signal?: AbortSignal,
): Promise<boolean> {
  const isPrimary = ({ metadata }: Pod): boolean => metadata.name === roles.primary
  const others = await Promise.all(
    all.filter((pod) => !isPrimary(pod)).map(async (pod) => ({ pod, done: await settle(client, pod, roles, signal) })),
  )
  if (others.some(({ pod, done }) => !done && roleOf(pod) === 'primary')) return false
  const primary = all.find(isPrimary)
  const done = primary === undefined ? roles.primary === null : await settle(client, primary, roles, signal)
  return done && others.every((other) => other.done)
}

export function roleOf({ metadata }: Pod): string | undefined {
  return metadata.labels?.[labels.role]
}

/** Whether the pod has the label it should have now. */
async function settle(
  client: Pick<KubeClient, 'patch'>,
  pod: Pod,
  roles: Roles,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const role = wanted(pod, roles)
  // A primary's label says of which epoch it is, or one who knows an older one but not that could take it away.
  if (roleOf(pod) === role && (role !== 'primary' || epochOf(pod) >= roles.epoch)) return true
  if (epochOf(pod) > roles.epoch) return false
  const { resourceVersion } = pod.metadata
  const patch = {
    metadata: {
      resourceVersion,
      labels: { [labels.role]: role ?? null },
      annotations: { [annotations.epoch]: String(roles.epoch) },
    },
  }
  try {
    await client.patch(pods, keyOf(pod), patch, { ...(signal && { signal }) })
    return true
  } catch (error) {
    if (isNotFound(error)) return role !== 'primary'
    if (isConflict(error)) return false
    throw error
  }
}

function wanted({ metadata }: Pod, { primary, replicas }: Roles): 'primary' | 'replica' | undefined {
  if (metadata.name === primary) return 'primary'
  return replicas.includes(metadata.name) ? 'replica' : undefined
}
