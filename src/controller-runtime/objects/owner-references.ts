import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { keyOf, keyText, type KubeObject, type ObjectKey, type OwnerReference, type Resource } from './objects.ts'

/**
 * Owners of an object. The garbage collector deletes an object once none of its owners exists; at most one owner is its
 * controller, the one that keeps it as it should be.
 */

/** The object's controller, if it has one. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((each) => each.controller === true)
}

/** The key of the object's controller where that is of this kind, in whatever version of its API it was written. */
export function controllerKey(object: KubeObject, owner: Resource): ObjectKey | undefined {
  const reference = controllerOf(object)
  if (reference?.kind !== owner.kind || groupOf(reference.apiVersion) !== owner.group) return undefined
  return { namespace: owner.namespaced ? (object.metadata.namespace ?? '') : '', name: reference.name }
}

/** Whether exactly this owner, not an earlier one of the same name, controls the object. */
export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return owner.metadata.uid !== undefined && controllerOf(object)?.uid === owner.metadata.uid
}

/**
 * The object with `owner` as its controller; the same object where it is that already. Throws `REGENT_REFUSED` where
 * another owner controls it, also an earlier one of the same name: the garbage collector is about to delete the objects
 * of that owner, so the object is another's until it is gone.
 */
export function withController<Object extends KubeObject>(object: Object, owner: KubeObject): Object {
  const present = controllerOf(object)
  if (present && present.uid !== owner.metadata.uid) {
    const controller = say`${present.kind} ${present.name} (uid ${present.uid})`
    const other = say`${describe(owner)} (uid ${owner.metadata.uid ?? say`unknown`})`
    throw new RegentError(
      'REGENT_REFUSED',
      say`${describe(object)} is controlled by ${controller} and cannot be by ${other} too`,
    )
  }
  return withReference(object, { ...referenceTo(owner, object), controller: true, blockOwnerDeletion: true })
}

/** The object with `owner` as one of its owners; the same object where it is that already. */
export function withOwner<Object extends KubeObject>(object: Object, owner: KubeObject): Object {
  const present = object.metadata.ownerReferences?.find((each) => each.uid === owner.metadata.uid)
  return withReference(object, { ...present, ...referenceTo(owner, object) })
}

/** The object without `owner` among its owners; the same object where it is not among them. */
export function withoutOwner<Object extends KubeObject>(object: Object, owner: KubeObject): Object {
  const references = object.metadata.ownerReferences ?? []
  const rest = references.filter((each) => each.uid !== owner.metadata.uid)
  return rest.length === references.length
    ? object
    : { ...object, metadata: { ...object.metadata, ownerReferences: rest } }
}

function withReference<Object extends KubeObject>(object: Object, reference: OwnerReference): Object {
  const references = object.metadata.ownerReferences ?? []
  const at = references.findIndex((each) => each.uid === reference.uid)
  const present = references[at]
  if (present && isSame(present, reference)) return object
  const next = present ? references.with(at, reference) : [...references, reference]
  return { ...object, metadata: { ...object.metadata, ownerReferences: next } }
}

/**
 * A reference has no namespace: the garbage collector looks in the dependant's own, and deletes what has an owner it
 * does not find there.
 */
function referenceTo(owner: KubeObject, dependant: KubeObject): OwnerReference {
  const { name, namespace, uid } = owner.metadata
  if (uid === undefined)
    throw new RegentError('REGENT_REFUSED', say`${describe(owner)} has no uid yet and can own nothing`)
  if (namespace !== undefined && namespace !== dependant.metadata.namespace) {
    throw new RegentError(
      'REGENT_REFUSED',
      say`${describe(owner)} can own nothing outside its namespace, but ${describe(dependant)} is`,
    )
  }
  return { apiVersion: owner.apiVersion, kind: owner.kind, name, uid }
}

function isSame(one: OwnerReference, other: OwnerReference): boolean {
  const names = ['apiVersion', 'kind', 'name', 'uid', 'controller', 'blockOwnerDeletion'] as const
  return names.every((name) => one[name] === other[name])
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}

function describe(object: KubeObject): string {
  return `${object.kind} ${keyText(keyOf(object))}`
}
