import { isConflict, isNotFound } from '../controller-runtime/kube-api-error.ts'
import type { KubeClient } from '../controller-runtime/kube-client.ts'
import { keyOf } from '../controller-runtime/objects.ts'
import { annotations, labels } from './names.ts'
import { pods, type Pod } from './stateful-set.ts'

export interface Roles {
  readonly epoch: number
  readonly primary: string | null
  readonly replicas: readonly string[]
}

/**
 * Labels a cluster's pods with their roles: off the old primary, then on the new, never two. Each label carries the epoch; whoever knows only an older one leaves it as it is, and so does one that somebody changed
 * meanwhile (by `resourceVersion`): it is looked at again when that change is heard of.
 */
export async function moveRoles(client: Pick<KubeClient, 'patch'>, all: readonly Pod[], roles: Roles, signal?: AbortSignal): Promise<void> {
  const wrong = all.filter((pod) => epochOf(pod) <= roles.epoch && roleOf(pod) !== wanted(pod, roles))
  const [last, first] = [wrong.filter(({ metadata }) => metadata.name === roles.primary), wrong.filter(({ metadata }) => metadata.name !== roles.primary)]
  await Promise.all(first.map((pod) => label(client, pod, roles, signal)))
  for (const pod of last) await label(client, pod, roles, signal)
}

async function label(client: Pick<KubeClient, 'patch'>, pod: Pod, roles: Roles, signal: AbortSignal | undefined): Promise<void> {
  const { resourceVersion } = pod.metadata
  const patch = { metadata: { resourceVersion, labels: { [labels.role]: wanted(pod, roles) ?? null }, annotations: { [annotations.epoch]: String(roles.epoch) } } }
  await client.patch(pods, keyOf(pod), patch, { ...(signal && { signal }) }).catch((error: unknown) => {
    if (!isConflict(error) && !isNotFound(error)) throw error
  })
}

function wanted({ metadata }: Pod, { primary, replicas }: Roles): 'primary' | 'replica' | undefined {
  if (metadata.name === primary) return 'primary'
  return replicas.includes(metadata.name) ? 'replica' : undefined
}

function roleOf({ metadata }: Pod): string | undefined {
  return metadata.labels?.[labels.role]
}

function epochOf({ metadata }: Pod): number {
  const epoch = Number(metadata.annotations?.[annotations.epoch])
  return Number.isSafeInteger(epoch) ? epoch : 0
}
