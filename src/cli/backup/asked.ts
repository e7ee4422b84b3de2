import { keyOfStore } from '#backup/transfer/read-key-file.ts'
import type { LookedInto } from '#backup/transfer/stored-backups.ts'
import { findPlace, isElsewhere } from '../connection/connect.ts'
import type { Connection } from '../connection/place.ts'
import type { Io } from '../terminal/io.ts'
import type { AskedOptions } from './backup-options.ts'
import { opened } from './opened.ts'

/** Longer than a manager waits for the agent that looks into the store. */
export const storeDeadlineMs = 130_000

/** How a question is answered: by the store itself, or by the manager of a cluster that is elsewhere. */
export interface Answering<T> {
  readonly here: (from: LookedInto) => Promise<T>
  readonly there: (manager: Connection) => Promise<T>
}

/**
 * Where `--from` names a store that is read, and so is the store of a cluster of this machine. The manager is asked
 * about a cluster on Kubernetes, and about a cluster behind a URL: login and key of its store stay where they are.
 */
export async function asked<T>(
  io: Io,
  wanted: string | undefined,
  options: AskedOptions,
  { here, there }: Answering<T>,
): Promise<T> {
  if (isManagersToAnswer(io, wanted, options)) {
    await using place = await findPlace(io, options, wanted)
    return await there(await place.connect(wanted))
  }
  const { cluster, store, where } = await opened(wanted, options)
  try {
    return await here({ store, cluster, key: await keyOfStore(where) })
  } finally {
    store.close()
  }
}

export function isManagersToAnswer(io: Io, wanted: string | undefined, options: AskedOptions): boolean {
  return options.from === undefined && isElsewhere(io, options, wanted)
}
