import { isDeepStrictEqual } from 'node:util'
import type { V1PodTemplateSpec, V1StatefulSetSpec } from '@kubernetes/client-node'
import type { Clock } from '#common/ports/ports.ts'
import { isConflict } from '#controller-runtime/client/kube-api-error.ts'
import type { JsonPatch, KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyOf, keyText, type KubeObject, type ObjectKey, type Resource } from '#controller-runtime/objects/objects.ts'
import { additionsIn } from '#kube/objects/additions.ts'
import { deployments, type Deployment } from '#kube/app/app-objects.ts'
import { fieldManager } from '#kube/names/names.ts'
import { statefulSets, type StatefulSet } from '#kube/pods/stateful-set.ts'

/** What makes pods from a template: a StatefulSet, or a Deployment. */
export interface Workload extends KubeObject {
  readonly spec: Kept
}

export interface KeepTemplateParts<Kind extends Workload> {
  readonly client: KubeClient
  readonly clock: Clock
  readonly resource: Resource<Kind>
  /** What becomes of pods that were made with what is taken away, in a clause. */
  readonly pods: string
}

/** Another hand that puts the same back so many times within this time is not fought: it is left, and that is said. */
const mostTimes = 3
const withinMs = 600_000

type Kept = Pick<V1StatefulSetSpec, 'template' | 'ordinals' | 'minReadySeconds'>

interface Known {
  readonly uid: string | undefined
  /**
   * What was wanted when the API server was asked last, and what that is with its defaults, and with what admission
   * adds.
   */
  readonly wanted: V1PodTemplateSpec
  readonly stored: Kept
  /** When something was taken away. */
  readonly times: readonly number[]
  readonly isLeft: boolean
}

/**
 * Keeps what pods are made of to what the spec says. An apply removes nothing that others added beside it: an
 * environment variable, a container, a label. What the API server fills in, and what a webhook adds to a write of
 * Regent's, is not taken away: it comes with each write. Annotations of others stay: `kubectl rollout restart` and
 * tools leave theirs there, and nothing of Regent's reads them.
 */
export class TemplateKeeper<Kind extends Workload> {
  readonly #parts: KeepTemplateParts<Kind>
  readonly #known = new Map<string, Known>()

  constructor(parts: KeepTemplateParts<Kind>) {
    this.#parts = parts
  }

  /**
   * @param live as it is after `wanted` was applied
   * @returns what was taken away, in a sentence; '' where nothing was
   */
  async keep(wanted: Kind, live: Kind, signal: AbortSignal): Promise<string> {
    const known = this.#knownOf(live)
    if (known !== undefined && isAsKept(known, wanted, live)) return ''
    const now = this.#parts.clock.monotonicMs()
    const times = (known?.times ?? []).filter((at) => now - at < withinMs)
    if (times.length >= mostTimes) return this.#leave(live, times)
    const after = await this.#write(wanted, live, signal)
    if (after === undefined) return ''
    const added = additionsIn(live.spec, after.spec)
    const { uid } = live.metadata
    const stored = keptOf(after)
    this.#known.set(textOf(live), {
      uid,
      wanted: wanted.spec.template,
      stored,
      times: added === '' ? times : [...times, now],
      isLeft: false,
    })
    return added === ''
      ? ''
      : `${live.kind} ${live.metadata.name} had what the spec does not say: ${added}. It is taken away; ${this.#parts.pods}`
  }

  /** The object is gone, and nothing of it is remembered. */
  forget(key: ObjectKey): void {
    this.#known.delete(keyText(key))
  }

  #knownOf(live: Workload): Known | undefined {
    const known = this.#known.get(textOf(live))
    return known?.uid === live.metadata.uid ? known : undefined
  }

  #leave(live: Workload, times: readonly number[]): string {
    const known = this.#knownOf(live)
    if (known === undefined || known.isLeft) return ''
    this.#known.set(textOf(live), { ...known, times, isLeft: true })
    const minutes = withinMs / 60_000
    return (
      `${live.kind} ${live.metadata.name} is changed again and again by somebody else, ${mostTimes} ` +
      `times within ${minutes} min: it is left as it is for so long`
    )
  }

  /**
   * Undefined where somebody wrote meanwhile: that is heard of. What was there before the write is what `live` says, or
   * nothing is written.
   */
  async #write(wanted: Kind, live: Kind, signal: AbortSignal): Promise<Kind | undefined> {
    try {
      const { client, resource } = this.#parts
      return await client.patch(resource, keyOf(live), patchOf(wanted, live), { fieldManager, signal })
    } catch (error) {
      if (isConflict(error)) return undefined
      throw error
    }
  }
}

function patchOf({ spec: { template } }: Workload, { metadata, spec }: Workload): JsonPatch {
  const annotations = { ...spec.template.metadata?.annotations, ...template.metadata?.annotations }
  const value = { ...template, metadata: { ...template.metadata, annotations } }
  return [
    // The API server compares: another one is a conflict.
    { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
    { op: 'replace', path: '/spec/template', value },
    // Pods would have other numbers, and be other instances.
    ...(spec.ordinals === undefined ? [] : [{ op: 'remove', path: '/spec/ordinals' } as const]),
    ...(spec.minReadySeconds === undefined ? [] : [{ op: 'remove', path: '/spec/minReadySeconds' } as const]),
  ]
}

function keptOf({ spec: { template, ordinals, minReadySeconds } }: Workload): Kept {
  const { annotations: _others, ...metadata } = template.metadata ?? {}
  return {
    template: { ...template, metadata },
    ...(ordinals && { ordinals }),
    ...(minReadySeconds && { minReadySeconds }),
  }
}

function textOf(set: Workload): string {
  return keyText(keyOf(set))
}

function isAsKept(known: Known, wanted: Workload, live: Workload): boolean {
  return isDeepStrictEqual(known.wanted, wanted.spec.template) && isDeepStrictEqual(known.stored, keptOf(live))
}

type Keeping = Pick<KeepTemplateParts<Workload>, 'client' | 'clock'>

export function keeperOfSets(parts: Keeping): TemplateKeeper<StatefulSet> {
  const pods = 'pods that were made with it keep it until they are made again'
  return new TemplateKeeper({ ...parts, resource: statefulSets, pods })
}

export function keeperOfDeployments(parts: Keeping): TemplateKeeper<Deployment> {
  return new TemplateKeeper({ ...parts, resource: deployments, pods: 'its pods are made anew' })
}
