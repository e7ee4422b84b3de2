import type { KubeObject, ObjectKey } from '../objects/objects.ts'

/** What a controller needs of an informer: a local copy of one kind's objects, and word of every change. */
export interface InformerPort<Kind extends KubeObject = KubeObject> {
  /** For messages: `statefulsets.apps`. */
  readonly name: string
  /** Whether the first list is in the copy and the handlers heard of all of it. */
  hasSynced(): boolean
  /**
   * From now on `handler` hears of every change; what is in the copy already it hears of as added. Gives the function
   * that removes it again.
   */
  addHandler(handler: InformerHandler<Kind>): () => void
  get(key: ObjectKey): Kind | undefined
  list(): readonly Kind[]
}

/** Called in the order of the changes, and must not block. A resync is an update from an object to itself. */
export interface InformerHandler<Kind extends KubeObject = KubeObject> {
  added(object: Kind): void
  updated(before: Kind, after: Kind): void
  /** With the last state known, which may be older than the one that was deleted. */
  deleted(last: Kind): void
}
