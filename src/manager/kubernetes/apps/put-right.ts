import { isDeepStrictEqual } from 'node:util'
import { keyText, type KubeObject, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import { additionsIn } from '#kube/objects/additions.ts'

interface Specified extends KubeObject {
  readonly spec: object
}

/** Tells what a hand had changed of objects that an apply then made as they should be. */
export class PutRight {
  /** By App and kind: what was applied last, and to which object. A Service may have another name than its App. */
  readonly #applied = new Map<string, { readonly uid: string | undefined; readonly spec: object }>()

  /**
   * @param app the App to which the object belongs
   * @returns a sentence; '' where nothing was changed, or where what is wanted is new: nobody knows then who had it
   * otherwise. But Regent never pauses anything.
   */
  sentence(app: ObjectKey, wanted: Specified, before: Specified | undefined, after: Specified): string {
    const text = textOf(app, wanted.kind)
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

  forget(app: ObjectKey, kind: string): void {
    this.#applied.delete(textOf(app, kind))
  }
}

function textOf(app: ObjectKey, kind: string): string {
  return `${keyText(app)} ${kind}`
}

function isPaused({ spec }: Specified): boolean {
  return (spec as { readonly paused?: unknown }).paused === true
}

/** What was there and is not any more, or is otherwise; and what was not there. */
function changesBetween(before: object, after: object): string {
  return additionsIn(before, after) || additionsIn(after, before)
}
