import type { Instance } from '../documents/instance.ts'
import { isSameKey, type Key } from '../documents/key.ts'

/** The servers of one cluster, as they were looked at just now. */
export type Tree = readonly Instance[]

export function at(tree: Tree, key: Key): Instance | undefined {
  return tree.find(({ Key }) => isSameKey(Key, key))
}

export function masterOf(tree: Tree, { MasterKey }: Instance): Instance | undefined {
  return at(tree, MasterKey)
}

export function replicasOf(tree: Tree, { Key }: Instance): Tree {
  return tree.filter(({ MasterKey }) => isSameKey(MasterKey, Key))
}

/** Whether `one` follows `other`, or a server that does. In a ring every server does. */
export function isBelow(tree: Tree, one: Instance, other: Instance): boolean {
  const seen = new Set<Instance>()
  for (let above = masterOf(tree, one); above !== undefined && !seen.has(above); above = masterOf(tree, above)) {
    if (above === other) return true
    seen.add(above)
  }
  return false
}

export function areSiblings(one: Instance, other: Instance): boolean {
  return one !== other && one.MasterKey.Hostname !== '' && isSameKey(one.MasterKey, other.MasterKey)
}
