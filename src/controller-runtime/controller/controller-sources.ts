import type { InformerPort } from '../informers/informer-port.ts'
import { keyOf, keyText, type KubeObject, type ObjectKey, type Resource } from '../objects/objects.ts'
import { controllerKey } from '../objects/owner-references.ts'
import { passesAdded, passesDeleted, passesUpdated, type Predicate } from './predicates.ts'

/** Where a controller's keys come from. */
export interface Source {
  readonly name: string
  /** Whether every key of the first list was enqueued. */
  hasSynced(): boolean
  /** Begins to enqueue; gives the function that ends it. */
  start(enqueue: (key: ObjectKey) => void): () => void
}

/**
 * The kind that the controller is for: every change asks for a run of the object itself. All predicates must let it
 * pass.
 */
export function watchFor<Kind extends KubeObject>(
  informer: InformerPort<Kind>,
  ...predicates: readonly Predicate<Kind>[]
): Source {
  return watchMapped(informer, (object) => [keyOf(object)], ...predicates)
}

/**
 * A kind whose objects are made for the controller's: every change asks for a run of the object's controller, where
 * that is an `owner`.
 */
export function watchOwned<Kind extends KubeObject>(
  informer: InformerPort<Kind>,
  owner: Resource,
  ...predicates: readonly Predicate<Kind>[]
): Source {
  const owners = (object: Kind): readonly ObjectKey[] => {
    const key = controllerKey(object, owner)
    return key ? [key] : []
  }
  return watchMapped(informer, owners, ...predicates)
}

/**
 * A kind that concerns others: every change asks for a run of what `map` gives. An update asks for what it gives before
 * and after, so that an object that lost something hears of it.
 */
export function watchMapped<Kind extends KubeObject>(
  informer: InformerPort<Kind>,
  map: (object: Kind) => readonly ObjectKey[],
  ...predicates: readonly Predicate<Kind>[]
): Source {
  return {
    name: informer.name,
    hasSynced: () => informer.hasSynced(),
    start: (enqueue) =>
      informer.addHandler({
        added: (object) => {
          if (predicates.every((each) => passesAdded(each, object))) map(object).forEach(enqueue)
        },
        updated: (before, after) => {
          if (predicates.every((each) => passesUpdated(each, before, after)))
            distinct([...map(before), ...map(after)]).forEach(enqueue)
        },
        deleted: (last) => {
          if (predicates.every((each) => passesDeleted(each, last))) map(last).forEach(enqueue)
        },
      }),
  }
}

/**
 * A worker may take the first of two equal keys at once, and then the second would give another run for the same
 * change.
 */
function distinct(keys: readonly ObjectKey[]): ObjectKey[] {
  return [...new Map(keys.map((key) => [keyText(key), key])).values()]
}
