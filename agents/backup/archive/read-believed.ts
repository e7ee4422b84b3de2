import type { Archive } from '#backup/archive/history.ts'
import { believedBy, type Doubted } from '#backup/transfer/believed-archive.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { counted, say, text } from '#common/sentence/sentence.ts'
import { abbreviated } from '#common/text/words.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { OpenedStore } from '#agents/ports/backup-port.ts'

/** The place of an archive. */
export interface ArchivePlace {
  readonly opened: OpenedStore
  /** The folder of the cluster in the store. */
  readonly folder: string
  readonly lineage: string
}

/** The archive in the store, and the part of the archive that a sender believes. */
export interface ReadBelieved {
  readonly archive: Archive
  readonly believed: Archive
  readonly doubted: readonly Doubted[]
  /** The transactions that this server had executed once the archive was read. */
  readonly executed: GtidSet
}

/** Reads an archive as a sender does. Rejects as the store does. */
export async function readBelieved(
  { server }: Pick<Parts, 'server'>,
  { opened: { store, key }, folder: cluster, lineage }: ArchivePlace,
): Promise<ReadBelieved> {
  const archive = await readArchive(store, cluster, 'sender')
  // The server is asked after the archive was read. Transactions that others shipped or copied by then are executed
  // here as well, unless this server lags.
  const executed = parseGtidSet((await server.readHolds()).executed)
  const { archive: believed, doubted } = await believedBy(archive, { store, cluster, lineage, key, executed })
  return { archive, believed, doubted, executed }
}

/**
 * Tells of each object that a primary does not believe, once. @param said the keys of objects that were told of before
 */
export function tellDoubts(
  { config: { instance }, notices }: Pick<Parts, 'config' | 'notices'>,
  address: string,
  doubted: readonly Doubted[],
  said: Set<string>,
): void {
  const fresh = doubted.filter(({ key }) => !said.has(key))
  const [first] = fresh
  if (first === undefined) return
  for (const { key } of fresh) said.add(key)
  const gtids = abbreviated(fresh.reduce((all, each) => all.union(each.gtids), GtidSet.empty).toString())
  const others = fresh.length === 1 ? '' : say` and ${counted(fresh.length - 1, 'other object')}`
  const objects = say`object ${text(first.key)}${others} of store ${text(address)}`
  notices.add(
    'ArchiveDoubted',
    say`${objects} cannot be believed: ${instance} has not executed ${text(gtids)}; not counted as shipped: delete it, unless a failover lost that`,
  )
}
