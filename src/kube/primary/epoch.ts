import type { KubeObject } from '#controller-runtime/objects/objects.ts'
import { annotations } from '../names/names.ts'

/** The epoch that an object carries; 0 where there is none, or one that nobody can read: a hand wrote it. */
export function epochOf({ metadata }: KubeObject): number {
  const epoch = Number(metadata.annotations?.[annotations.epoch])
  return Number.isSafeInteger(epoch) ? epoch : 0
}

/** The epoch of the record, read anew and never from a cache; undefined where there is none. */
export type CommittedEpoch = () => Promise<number | undefined>

/**
 * What was read of an object, and *after* it the record's epoch: a higher one in the object was written by nobody who
 * leads, since epochs are committed before anything carries them, and only grow. Such an epoch would stand in the way
 * of every failover to come, so it counts for no more than the record's. A manager that slept between the two reads, or
 * after them, has seen too low an epoch but also too old a `resourceVersion`: it writes over what it saw or not at all.
 */
export function withinRecord<Kind extends KubeObject>(object: Kind, committed: number | undefined): Kind {
  if (committed === undefined || epochOf(object) <= committed) return object
  const { metadata } = object
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.epoch]: String(committed) } },
  }
}

/**
 * The same for several objects of a cluster whose epoch is known to be this at least: the record is read only where one
 * of them claims more.
 */
export async function allWithinRecord<Kind extends KubeObject>(
  objects: readonly Kind[],
  known: number,
  committedEpoch: CommittedEpoch,
): Promise<readonly Kind[]> {
  if (objects.every((object) => epochOf(object) <= known)) return objects
  const committed = await committedEpoch()
  return objects.map((object) => withinRecord(object, committed))
}
