import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Machine } from '../machine.ts'
import type { DataFolder } from '../mysqld/data-folder.ts'

/** All that is there, executed, received or waiting for an acknowledgement. */
export function heldIn(folder: DataFolder | undefined): GtidSet {
  if (folder === undefined) return GtidSet.empty
  const prepared = folder.prepared.reduce((all, { gtid }) => all.union(gtid), GtidSet.empty)
  return folder.executed.union(folder.received).union(prepared)
}

export function heldBy({ folder }: Machine): GtidSet {
  return heldIn(folder)
}

/** Written by people who need no open server: no client heard OK for these. */
export function byHandIn(folder: DataFolder | undefined): GtidSet {
  return [...(folder?.byHand ?? [])].reduce((all, { gtid }) => all.union(gtid), GtidSet.empty)
}

/** What a power cut leaves of that for sure. */
export function durableIn(folder: DataFolder | undefined): GtidSet {
  if (folder === undefined) return GtidSet.empty
  return folder.binlog
    .filter((transaction) => !folder.committed.has(transaction))
    .concat(folder.relayLog.slice(0, folder.syncedRelayLog))
    .reduce((all, { gtid }) => all.union(gtid), folder.executed)
}

/** Held by at least so many of these. */
export function heldByAtLeast(count: number, sets: readonly GtidSet[]): GtidSet {
  const inAtLeast = Array.from({ length: count + 1 }, () => GtidSet.empty)
  for (const held of sets)
    for (let number = count; number >= 1; number -= 1) {
      const more = number === 1 ? held : (inAtLeast[number - 1] ?? GtidSet.empty).intersect(held)
      inAtLeast[number] = (inAtLeast[number] ?? GtidSet.empty).union(more)
    }
  return inAtLeast[count] ?? GtidSet.empty
}

export function shown(set: GtidSet): string {
  return set.toString().slice(0, 120)
}

/** What a hand wrote at this server with the `server_id` of another one. */
export function writtenForOthers({ folder }: Machine): GtidSet {
  const written = folder?.binlog.filter(({ isBorrowed }) => isBorrowed) ?? []
  return written.reduce((sum, { gtid }) => sum.union(gtid), GtidSet.empty)
}
