import { isDeepStrictEqual } from 'node:util'
import { keyOf, keyText, type KubeObject, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import { additionsIn } from '#kube/objects/additions.ts'

interface Specified extends KubeObject {
  readonly spec: object
}

/** Tells what a hand had changed of objects that an apply then made as they should be. */
export class PutRight {
  /** By kind and key: what was applied last, and to which object. */
  readonly #applied = new Map<string, { readonly uid: string | undefined; readonly spec: object }>()

  /**
   * @returns a sentence; '' where nothing was changed, or where what is wanted is new: nobody knows then who had it
   * otherwise. But Regent never pauses anything.
   */
  sentence(wanted: Specified, before: Specified | undefined, after: Specified): string {
    const text = textOf(wanted.kind, keyOf(wanted))
    const last = this.#applied.get(text)
    const { uid } = after.metadata
    this.#applied.set(text, { uid, spec: wanted.spec })
    if (before === undefined) return ''
    const isKnown = last?.uid === uid && isDeepStrictEqual(last?.spec, wanted.spec)
    const changed = isKnown ? changesBetween(before.spec, after.spec) : isPaused(before) ? 'paused' : ''
    return changed === ''
      ? ''
      : `${wanted.kind} ${wanted.metadata.name} was changed by somebody else: ${changed}. It is put right`
  }

  forget(kind: string, key: ObjectKey): void {
    this.#applied.delete(textOf(kind, key))
  }
}

function textOf(kind: string, key: ObjectKey): string {
  return `${kind} ${keyText(key)}`
}

function isPaused({ spec }: Specified): boolean {
  return (spec as { readonly paused?: unknown }).paused === true
}

/** What was there and is not any more, or is otherwise; and what was not there. */
function changesBetween(before: object, after: object): string {
  return additionsIn(before, after) || additionsIn(after, before)
}
