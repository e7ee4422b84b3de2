import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { changeObject, type Change, type ChangeParts } from './conflict-retry.ts'
import { keyOf, keyText, type KubeObject } from '../objects/objects.ts'

/**
 * A finalizer keeps an object that is being deleted until its controller has cleaned up and takes the finalizer away.
 */

export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined
}

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false
}

/**
 * The object with the finalizer; the same object where it has it. Throws `REGENT_REFUSED` for one that is being
 * deleted: the API server allows no new ones then.
 */
export function withFinalizer<Object extends KubeObject>(object: Object, finalizer: string): Object {
  if (hasFinalizer(object, finalizer)) return object
  if (isDeleting(object))
    throw new RegentError(
      'REGENT_REFUSED',
      say`${object.kind} ${keyText(keyOf(object))} is being deleted and can no longer be given the finalizer ${finalizer}`,
    )
  return withFinalizers(object, [...(object.metadata.finalizers ?? []), finalizer])
}

/** The object without the finalizer; the same object where it has none such. */
export function withoutFinalizer<Object extends KubeObject>(object: Object, finalizer: string): Object {
  return hasFinalizer(object, finalizer)
    ? withFinalizers(
        object,
        (object.metadata.finalizers ?? []).filter((each) => each !== finalizer),
      )
    : object
}

/** Must be done, and its answer seen, before anything is made that would have to be cleaned up. */
export async function addFinalizer<Kind extends KubeObject>(
  parts: ChangeParts,
  target: Omit<Change<Kind>, 'change'>,
  finalizer: string,
): Promise<Kind | undefined> {
  return changeObject(parts, { ...target, change: (current) => withFinalizer(current, finalizer) })
}

/** The last thing done for an object that is being deleted: it may be gone when this resolves. */
export async function removeFinalizer<Kind extends KubeObject>(
  parts: ChangeParts,
  target: Omit<Change<Kind>, 'change'>,
  finalizer: string,
): Promise<Kind | undefined> {
  return changeObject(parts, { ...target, change: (current) => withoutFinalizer(current, finalizer) })
}

function withFinalizers<Object extends KubeObject>(object: Object, finalizers: readonly string[]): Object {
  return { ...object, metadata: { ...object.metadata, finalizers } }
}
