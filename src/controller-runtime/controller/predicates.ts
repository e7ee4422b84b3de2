import type { KubeObject } from '../objects/objects.ts'

/** Which changes concern a controller. A kind of change that is left out passes. */
export interface Predicate<Kind extends KubeObject = KubeObject> {
  added?(object: Kind): boolean
  updated?(before: Kind, after: Kind): boolean
  deleted?(last: Kind): boolean
}

/**
 * Updates that ask for something: `metadata.generation` grows with the specification, not with status, labels or
 * annotations; and requests to delete. Kinds without generations (Service, ConfigMap, Secret) pass always: for them it
 * says nothing. A resync does not pass.
 */
export const generationChanged: Predicate = {
  updated: ({ metadata: before }, { metadata: after }) => {
    // The API server counts the generation on for a request to delete as well, but a finalizer is too much to hang on
    // that.
    if (before.deletionTimestamp !== after.deletionTimestamp) return true
    return after.generation === undefined
      ? before.resourceVersion !== after.resourceVersion
      : before.generation !== after.generation
  },
}

/** Updates that changed anything at all, so no resyncs. */
export const resourceVersionChanged: Predicate = {
  updated: (before, after) => before.metadata.resourceVersion !== after.metadata.resourceVersion,
}

export const labelsChanged: Predicate = {
  updated: (before, after) => !sameTexts(before.metadata.labels, after.metadata.labels),
}

export const annotationsChanged: Predicate = {
  updated: (before, after) => !sameTexts(before.metadata.annotations, after.metadata.annotations),
}

/** Objects for which `holds` is true; an update passes too when it was true before, so that leaving is seen. */
export function objectsThat<Kind extends KubeObject>(holds: (object: Kind) => boolean): Predicate<Kind> {
  return { added: holds, updated: (before, after) => holds(before) || holds(after), deleted: holds }
}

/** Objects with all of these labels. */
export function labelled(labels: Readonly<Record<string, string>>): Predicate {
  return objectsThat((object) =>
    Object.entries(labels).every(([label, value]) => object.metadata.labels?.[label] === value),
  )
}

/** Changes that one of `predicates` lets pass. Several predicates given to a source must all let a change pass. */
export function anyOf<Kind extends KubeObject>(...predicates: readonly Predicate<Kind>[]): Predicate<Kind> {
  return {
    added: (object) => predicates.some((each) => passesAdded(each, object)),
    updated: (before, after) => predicates.some((each) => passesUpdated(each, before, after)),
    deleted: (last) => predicates.some((each) => passesDeleted(each, last)),
  }
}

/** Changes that `predicate` does not let pass. */
export function not<Kind extends KubeObject>(predicate: Predicate<Kind>): Predicate<Kind> {
  return {
    added: (object) => !passesAdded(predicate, object),
    updated: (before, after) => !passesUpdated(predicate, before, after),
    deleted: (last) => !passesDeleted(predicate, last),
  }
}

export function passesAdded<Kind extends KubeObject>(predicate: Predicate<Kind>, object: Kind): boolean {
  return predicate.added?.(object) ?? true
}

export function passesUpdated<Kind extends KubeObject>(predicate: Predicate<Kind>, before: Kind, after: Kind): boolean {
  return predicate.updated?.(before, after) ?? true
}

export function passesDeleted<Kind extends KubeObject>(predicate: Predicate<Kind>, last: Kind): boolean {
  return predicate.deleted?.(last) ?? true
}

type Texts = Readonly<Record<string, string>>

function sameTexts(one: Texts = {}, other: Texts = {}): boolean {
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && one[name] === other[name])
  )
}
