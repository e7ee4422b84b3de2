import type { Pod } from '../pods/stateful-set.ts'
import type { Owner } from './component.ts'

/**
 * The pods that an owner wants to have, of those that are there. After a scale-in the others stay until their
 * controller has taken them away, and what they say of the component counts no longer.
 */
export function wantedOf(owner: Owner, pods: readonly Pod[]): readonly Pod[] {
  const offline = owner.spec?.offlineInstances ?? []
  const there = pods.filter(({ metadata }) => !offline.includes(metadata.name))
  // Which pods a template wants is for KubeBlocks' controller to know; a pod of it counts until it is being deleted.
  if (hasNamesOfItsOwn(owner)) return there.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  return there.filter(({ metadata }) => isOfFirst(owner, metadata.name, offline))
}

function hasNamesOfItsOwn({ kind, spec = {} }: Owner): boolean {
  if (kind === 'StatefulSet') return false
  const { instances, ordinals, flatInstanceOrdinal } = spec
  return kind !== 'InstanceSet' || instances !== undefined || ordinals !== undefined || flatInstanceOrdinal === true
}

/** Whether the pod is one of the first, as many as there should be, that are not offline. */
function isOfFirst(owner: Owner, name: string, offline: readonly string[]): boolean {
  const { replicas = 1, ordinals } = owner.spec ?? {}
  const [first, at] = [ordinals?.start ?? 0, ordinalIn(owner, name)]
  const passed = offline.map((each) => ordinalIn(owner, each)).filter((each) => each >= first && each < at)
  return at >= first && at - first - passed.length < replicas
}

/** The number of a pod; NaN, which is no number of any, where it is not named after its owner. */
function ordinalIn({ metadata }: Owner, name: string): number {
  const [prefix, ordinal = ''] = [name.slice(0, metadata.name.length + 1), name.slice(metadata.name.length + 1)]
  return prefix === `${metadata.name}-` && /^\d{1,9}$/.test(ordinal) ? Number(ordinal) : Number.NaN
}
