import { commonLabels } from '../names/names.ts'
import { claimOf, type Pod, type StatefulSet } from './stateful-set.ts'

/**
 * Labels that a pod of a cluster must have and has not any more, with their values. Its volume, which no hand can
 * change, tells whether it is one: another pod of such a name is none of Regent's business.
 */
export function lostLabels(cluster: string, { metadata, spec }: Pod): Readonly<Record<string, string>> {
  if (metadata.deletionTimestamp !== undefined) return {}
  const claims = spec?.volumes?.map(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName) ?? []
  if (!claims.includes(claimOf(metadata.name))) return {}
  return Object.fromEntries(
    Object.entries(commonLabels(cluster)).filter(([label, value]) => metadata.labels?.[label] !== value),
  )
}

/** Whether another set made it, which is deleted by now. */
export function isOfEarlierSet({ metadata }: Pod, set: StatefulSet): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)
  return owner !== undefined && owner.kind === 'StatefulSet' && owner.uid !== set.metadata.uid
}
