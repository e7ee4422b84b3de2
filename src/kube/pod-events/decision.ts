import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { MergePatch } from '#controller-runtime/client/kube-client.ts'
import { keyText, type KubeObject, type ObjectKey, type Resource } from '#controller-runtime/objects/objects.ts'

/** What becomes of an Event: the objects to patch, in this order, and one sentence that says why. */
export interface PodDecision {
  readonly changes: readonly Change[]
  readonly weight: Weight
  /** A word for programs: the reason of the Event that tells of the decision. */
  readonly reason: string
  readonly sentence: Sentence
  /** The Event is not handled yet: it is looked at again after this time. Milliseconds. */
  readonly againAfterMs?: number
}

/**
 * `routine`: as it was. `notice`: a rule keeps hands off, which the log says once. `news`: something changed.
 * `warning`: somebody should look.
 */
export type Weight = 'routine' | 'notice' | 'news' | 'warning'

/** A patch that fails with a conflict where the object is another by now: it was decided on what was read. */
export interface Change {
  readonly resource: Resource
  readonly key: ObjectKey
  readonly patch: MergePatch
}

/** Nothing is changed, and why. */
export function unchanged(reason: string, sentence: Sentence, weight: Weight = 'routine'): PodDecision {
  return { changes: [], weight, reason, sentence }
}

/**
 * The decision, where all that it changes lies in the namespace in which something was said. Else nothing is changed,
 * and a warning says so: whoever may write in one namespace must not move anything in another, whatever rule or reading
 * went wrong before.
 */
export function within(namespace: string, decision: PodDecision): PodDecision {
  const foreign = decision.changes.find(({ key }) => key.namespace !== namespace)
  if (foreign === undefined) return decision
  const { resource, key } = foreign
  return unchanged(
    'ForeignNamespace',
    say`what was said in namespace ${namespace} would change ${resource.kind} ${keyText(key)}, which is in another: nothing is changed`,
    'warning',
  )
}

/** A change of labels and annotations (null takes one away) of the very object that was read. */
export function metadataChange(
  resource: Resource,
  { metadata }: KubeObject,
  fields: {
    readonly labels?: Readonly<Record<string, string | null>>
    readonly annotations?: Readonly<Record<string, string | null>>
  },
): Change {
  return {
    resource,
    key: { namespace: metadata.namespace ?? '', name: metadata.name },
    patch: { metadata: { resourceVersion: metadata.resourceVersion, ...fields } },
  }
}
