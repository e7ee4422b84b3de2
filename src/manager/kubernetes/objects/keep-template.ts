import { isDeepStrictEqual } from 'node:util'
import type { V1PodTemplateSpec, V1StatefulSetSpec } from '@kubernetes/client-node'
import type { Clock } from '#common/ports/ports.ts'
import { isConflict } from '#controller-runtime/client/kube-api-error.ts'
import type { JsonPatch, KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyOf, keyText } from '#controller-runtime/objects/objects.ts'
import { additionsIn } from '#kube/objects/additions.ts'
import { fieldManager } from '#kube/names/names.ts'
import { statefulSets, type StatefulSet } from '#kube/pods/stateful-set.ts'

export interface KeepTemplateParts {
  readonly client: KubeClient
  readonly clock: Clock
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
export class TemplateKeeper {
  readonly #parts: KeepTemplateParts
  readonly #known = new Map<string, Known>()

  constructor(parts: KeepTemplateParts) {
    this.#parts = parts
  }

  /**
   * @param live as it is after `wanted` was applied
   * @returns what was taken away, in a sentence; '' where nothing was
   */
  async keep(wanted: StatefulSet, live: StatefulSet, signal: AbortSignal): Promise<string> {
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
    const then = 'It is taken away; pods that were made with it keep it until they are made again'
    return added === '' ? '' : `StatefulSet ${live.metadata.name} had what the spec does not say: ${added}. ${then}`
  }

  #knownOf(live: StatefulSet): Known | undefined {
    const known = this.#known.get(textOf(live))
    return known?.uid === live.metadata.uid ? known : undefined
  }

  #leave(live: StatefulSet, times: readonly number[]): string {
    const known = this.#knownOf(live)
    if (known === undefined || known.isLeft) return ''
    this.#known.set(textOf(live), { ...known, times, isLeft: true })
    const minutes = withinMs / 60_000
    return (
      `StatefulSet ${live.metadata.name} is changed again and again by somebody else, ${mostTimes} ` +
      `times within ${minutes} min: it is left as it is for so long`
    )
  }

  /**
   * Undefined where somebody wrote meanwhile: that is heard of. What was there before the write is what `live` says, or
   * nothing is written.
   */
  async #write(wanted: StatefulSet, live: StatefulSet, signal: AbortSignal): Promise<StatefulSet | undefined> {
    try {
      return await this.#parts.client.patch(statefulSets, keyOf(live), patchOf(wanted, live), { fieldManager, signal })
    } catch (error) {
      if (isConflict(error)) return undefined
      throw error
    }
  }
}

function patchOf({ spec: { template } }: StatefulSet, { metadata, spec }: StatefulSet): JsonPatch {
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

function keptOf({ spec: { template, ordinals, minReadySeconds } }: StatefulSet): Kept {
  const { annotations: _others, ...metadata } = template.metadata ?? {}
  return {
    template: { ...template, metadata },
    ...(ordinals && { ordinals }),
    ...(minReadySeconds && { minReadySeconds }),
  }
}

function textOf(set: StatefulSet): string {
  return keyText(keyOf(set))
}

function isAsKept(known: Known, wanted: StatefulSet, live: StatefulSet): boolean {
  return isDeepStrictEqual(known.wanted, wanted.spec.template) && isDeepStrictEqual(known.stored, keptOf(live))
}
