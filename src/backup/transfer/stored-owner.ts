import { codeOf } from '#common/errors/errors.ts'
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
    if (codeOf(error) === 'REGENT_NOT_FOUND') return null
    throw error
  }
}
