/**
 * What every object of the Kubernetes API has, and how a kind is named in a request. The shapes of the kinds themselves
 * belong to whoever uses them; this room knows none.
 */

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
  readonly finalizers?: readonly string[]
  readonly deletionTimestamp?: string
  readonly creationTimestamp?: string
}

export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}

/** A kind as its requests name it: `group` is '' for the core group, `_kind` only carries the type. */
export interface Resource<Kind extends KubeObject = KubeObject> {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  readonly _kind?: Kind
}

/** `namespace` is '' for what belongs to the whole cluster. */
export interface ObjectKey {
  readonly namespace: string
  readonly name: string
}

export function keyOf(object: KubeObject): ObjectKey {
  return { namespace: object.metadata.namespace ?? '', name: object.metadata.name }
}

/** `namespace/name`, or the name alone; neither part can hold a slash, so no two keys share a text. */
export function keyText(key: ObjectKey): string {
  return key.namespace === '' ? key.name : `${key.namespace}/${key.name}`
}

/** What `apiVersion` says for this kind: `v1`, `apps/v1`. */
export function apiVersionOf(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
}
