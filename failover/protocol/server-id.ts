import { mostInstances, ordinalOf, type InstanceName } from '#topology/snapshot/member.ts'

/** A folder's number is less than this: `server_id` has 32 bits, and an ordinal takes what 16 instances need. */
export const folderNumbers = 2 ** 32 / mostInstances
/** From here on no `server_id` is one that an older version gave. */
export const firstFolderNumber = 2

/**
 * A receiver passes over every transaction that carries the `server_id` of its own server, silently and for ever. An
 * instance on new data lacks what an earlier server of the same instance wrote, and must receive that: so `server_id`
 * belongs to the data folder, as `server_uuid` does. Its last four bits are the ordinal: no two instances ever have
 * the same, and nobody has to agree with anybody.
 * @param folderNumber null where an older version made the folder: then it is what that version gave, by the ordinal
 */
export function serverIdOf(instance: InstanceName, folderNumber: number | null): number {
  const ordinal = ordinalOf(instance)
  return folderNumber === null ? ordinal + 1 : folderNumber * mostInstances + ordinal
}
