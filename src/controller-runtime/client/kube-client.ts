import type { KubeObject, ObjectKey, Resource } from '../objects/objects.ts'

/** Every request has a deadline, 30 s unless said otherwise, and may be given up before. */
export interface RequestOptions {
  readonly deadlineMs?: number
  readonly signal?: AbortSignal
  /** Called right before the request is sent, each time it is; throws where it must not be any more. */
  readonly guard?: () => void
}

/** `namespace` undefined means all of them. */
export interface Selection {
  readonly namespace?: string
  /** As kubectl writes it: `app=shop,role in (primary,replica)`. */
  readonly labelSelector?: string
  /** `metadata.name=shop`. */
  readonly fieldSelector?: string
}

export interface ListOptions extends Selection, RequestOptions {
  /** Objects in a page. */
  readonly limit?: number
  /** Where the page before ended. */
  readonly continue?: string
  /** `0`: whatever the API server has in its cache. Absent or empty: what etcd has now. */
  readonly resourceVersion?: string
  /** A longer answer rejects with AnswerTooLarge; 32 MiB unless given. */
  readonly mostBytes?: number
}

export interface ObjectList<Kind extends KubeObject> {
  readonly items: readonly Kind[]
  readonly resourceVersion: string
  /** Present where more pages follow. */
  readonly continue?: string
}

export interface WatchOptions extends Selection {
  /** Events after this version. */
  readonly resourceVersion: string
  /** The API server ends the stream after so long. */
  readonly timeoutSeconds: number
  readonly signal?: AbortSignal
}

export type WatchEvent<Kind extends KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: Kind }
  /** Nothing changed up to this version: a new watch may begin there. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }

interface WriteOptions extends RequestOptions {
  readonly fieldManager?: string
}

export interface UpdateOptions extends WriteOptions {
  readonly subresource?: 'status' | 'scale'
}

export interface ApplyOptions extends RequestOptions {
  readonly fieldManager: string
  /** Takes fields over from other managers instead of failing with a conflict. */
  readonly force?: boolean
  readonly subresource?: 'status'
}

export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'test' | 'move' | 'copy'
  readonly path: string
  readonly from?: string
  readonly value?: unknown
}

/** RFC 6902. */
export type JsonPatch = readonly JsonPatchOperation[]

/** RFC 7386: null removes a field. Never a strategic merge: custom resources know none. */
export type MergePatch = Readonly<Record<string, unknown>>

export interface DeleteOptions extends RequestOptions {
  /** Refused with a conflict where the object of that name is another one by now. */
  readonly uid?: string
  readonly resourceVersion?: string
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'
  readonly gracePeriodSeconds?: number
}

/**
 * The Kubernetes API as a controller needs it. Refusals reject with KubeApiError, silence with
 * `REGENT_KUBE_UNREACHABLE`; an aborted signal rejects with its reason.
 */
export interface KubeClient {
  /** As etcd has it now, never from a cache. Undefined where there is no such object. */
  get<Kind extends KubeObject>(
    resource: Resource<Kind>,
    key: ObjectKey,
    options?: RequestOptions,
  ): Promise<Kind | undefined>
  /** Lists one page, or all where no limit is given. */
  list<Kind extends KubeObject>(resource: Resource<Kind>, options?: ListOptions): Promise<ObjectList<Kind>>
  /** Ends when the API server ends the stream; an error in the stream (410 among them) is thrown. */
  watch<Kind extends KubeObject>(resource: Resource<Kind>, options: WatchOptions): AsyncIterable<WatchEvent<Kind>>
  create<Kind extends KubeObject>(resource: Resource<Kind>, object: Kind, options?: WriteOptions): Promise<Kind>
  /** Replaces the object; a conflict where its resourceVersion is not the newest. */
  update<Kind extends KubeObject>(resource: Resource<Kind>, object: Kind, options?: UpdateOptions): Promise<Kind>
  /** Server-side apply. */
  apply<Kind extends KubeObject>(
    resource: Resource<Kind>,
    object: KubeObject & object,
    options: ApplyOptions,
  ): Promise<Kind>
  patch<Kind extends KubeObject>(
    resource: Resource<Kind>,
    key: ObjectKey,
    patch: JsonPatch | MergePatch,
    options?: UpdateOptions,
  ): Promise<Kind>
  /** Rejects with `NotFound` where it is gone already. */
  delete(resource: Resource, key: ObjectKey, options?: DeleteOptions): Promise<void>
}
