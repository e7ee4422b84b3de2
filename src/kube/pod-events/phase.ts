import type { Pod } from '../pods/stateful-set.ts'
import type { Owner } from './component.ts'

/** The phases of a component, in KubeBlocks' words. */
export type Phase = 'Creating' | 'Running' | 'Updating' | 'Stopped' | 'Failed' | 'Deleting'

/** Why a container waits where it will wait for long. */
const stuck: ReadonlySet<string> = new Set([
  'CrashLoopBackOff',
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
])

/**
 * The phase of a component that no Component of KubeBlocks tells of: from what its owner says of its pods. A pod that
 * is stuck outweighs that an update is under way.
 */
export function phaseOf(owner: Owner, pods: readonly Pod[]): Phase {
  const replicas = owner.spec?.replicas ?? 1
  if (owner.metadata.deletionTimestamp !== undefined) return 'Deleting'
  if (replicas === 0) return 'Stopped'
  if (pods.some(isStuck)) return 'Failed'
  if (isUpdating(owner, replicas)) return 'Updating'
  return (owner.status?.readyReplicas ?? 0) >= replicas ? 'Running' : 'Creating'
}

/** The controller of the owner has not seen yet what is wanted, or has not brought that to every pod. */
function isUpdating({ metadata, status = {} }: Owner, replicas: number): boolean {
  const { observedGeneration = 0, updatedReplicas = replicas } = status
  return observedGeneration < (metadata.generation ?? 0) || updatedReplicas < replicas
}

function isStuck({ status }: Pod): boolean {
  if (status?.phase === 'Failed') return true
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {}
  return [...initContainerStatuses, ...containerStatuses].some(({ state }) => stuck.has(state?.waiting?.reason ?? ''))
}
