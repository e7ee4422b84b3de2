import { isMissing } from '#object-store/missing-object.ts'
import type { Interruptible, ObjectStore } from '#object-store/object-store.ts'
import { keyOf } from '../objects/object-key.ts'
import { parseOwner, type Owner } from '../objects/owner.ts'
import { textOf } from './text-of.ts'

/** Null where nobody has claimed the folder. Rejects as the store does, and as `parseOwner`. */
export async function ownerOf(
  store: Pick<ObjectStore, 'get'>,
  cluster: string,
  options: Interruptible = {},
): Promise<Owner | null> {
  try {
    return parseOwner(await textOf(store, keyOf({ kind: 'owner', cluster }), options), cluster)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}
