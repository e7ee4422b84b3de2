/** What a store tells of an object without its content. */
export interface StoredObject {
  readonly key: string
  readonly bytes: number
  /** Wall clock of the store. */
  readonly modifiedMs: number
}

/** Which bytes of an object are asked for: from `from` to before `to`; to the end where `to` is absent. */
export interface ByteRange {
  readonly from: number
  readonly to?: number
}

/** What is interrupted rejects with the signal's reason. */
export interface Interruptible {
  readonly signal?: AbortSignal | undefined
}

export interface PutOptions extends Interruptible {
  /** About how many bytes come: the size of parts follows. Absent: unknown. */
  readonly expectedBytes?: number | undefined
}

/**
 * Where backups lie: a folder or a bucket. A key is relative to the address of the store: segments of `[A-Za-z0-9._-]`
 * with `/` between them (`object-key.ts`); no key is the folder of another one. An object is whole and durable, or not
 * there at all, whenever the writer dies. Each promise rejects with `REGENT_BACKUP_STORE`, which names the store, the
 * object and what the store said; a reader of an object that is not there gets `REGENT_NOT_FOUND`.
 */
export interface ObjectStore {
  /** For people: the address, without credentials. */
  readonly address: string
  /** Takes the place of an object of this key. @returns the bytes that were stored */
  put(key: string, content: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<number>
  /** False, and nothing is changed, where an object of this key exists. A single caller of many at once hears true. */
  putIfAbsent(key: string, content: Uint8Array, options?: Interruptible): Promise<boolean>
  /**
   * The content, in chunks. Throws while it is read, at the latest at the end, where less comes than the store promised
   * or the whole object is not what was put: nobody may rely on the content before its end. What lies beyond the end of
   * the object is left out of a range; of a range the store cannot tell whether its content is as it was put.
   */
  get(key: string, range?: ByteRange, options?: Interruptible): AsyncIterable<Uint8Array>
  /** All whose key begins with `prefix`, in the order of their keys. What others put there under no key is left out. */
  list(prefix: string, options?: Interruptible): AsyncIterable<StoredObject>
  /**
   * Deletes objects; an object that is not there counts as deleted.
   * @returns keys that stay, since the store locks them for now
   */
  delete(keys: readonly string[], options?: Interruptible): Promise<readonly string[]>
  /** Uploads under `prefix` that nobody ended and that began before `beforeMs` are given up. @returns how many */
  dropUnfinished(prefix: string, beforeMs: number, options?: Interruptible): Promise<number>
  close(): void
}
