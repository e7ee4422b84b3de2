import { counted, say, text, type Said } from '#common/sentence/sentence.ts'
import { abbreviated } from '#common/text/words.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Archive } from './history.ts'
import type { Manifest } from '../objects/manifest.ts'
import { gtidsOf } from '../objects/piece-name.ts'

/** The transactions that senders need not ship, and those where the chain of restores may break. */
export interface Shipped {
  /** Transactions in the archive, or in each backup. */
  readonly gtids: GtidSet
  /** Transactions in the newest backup: lacking ones among them hurt older backups alone. */
  readonly copied: GtidSet
}

/**
 * The transactions shipped so far, whoever led. The archive begins behind the oldest backup, so that each backup can be
 * brought to any moment. Without a backup, the archive begins behind the transactions that were executed when its first
 * epoch was opened. Null where there is neither: the archive begins with the next piece.
 */
export function shippedOf({ manifests, openings, pieces }: Archive): Shipped | null {
  const byEnd = manifests.toSorted((one, other) => one.endedAtMs - other.endedAtMs)
  const [oldest, newest] = [byEnd[0], byEnd.at(-1)]
  const believed = openings.filter(({ distrust = '' }) => distrust === '')
  const first = believed.toSorted((one, other) => one.epoch - other.epoch)[0]
  const begins = oldest === undefined ? first?.gtids : copiedBy(oldest)
  if (begins === undefined) return null
  return {
    gtids: begins.union(inHistory(pieces, believed)),
    copied: newest === undefined ? begins : copiedBy(newest),
  }
}

/**
 * The transactions in pieces that each later epoch began with. A restore leaves out the rest where the later epoch
 * begins, even if that epoch's primary applied the rest later. So the rest is shipped again, under the epoch of a
 * primary that has it.
 */
function inHistory(pieces: Archive['pieces'], openings: Archive['openings']): GtidSet {
  let all = GtidSet.empty
  for (const [epoch, ofEpoch] of Map.groupBy(pieces, (piece) => piece.epoch)) {
    const shipped = ofEpoch.reduce((some, piece) => some.union(gtidsOf(piece)), GtidSet.empty)
    const later = openings.filter((opening) => opening.epoch > epoch)
    all = all.union(later.reduce((left, { gtids }) => left.intersect(gtids), shipped))
  }
  return all
}

/**
 * Why a primary of this epoch may not go on with an archive; '' where the primary may. An archive with a later epoch
 * says that another instance leads meanwhile, or that the archive belongs to an earlier cluster of the same name and
 * secret.
 * @param executed the transactions that the primary had executed before the archive was read
 */
export function whyOtherHistory({ openings }: Pick<Archive, 'openings'>, epoch: number, executed: GtidSet): Said {
  const later = openings.find((opening) => opening.epoch > epoch)
  if (later !== undefined)
    return say`the archive has epoch ${later.epoch} already, this primary epoch ${epoch}: another leads, or an earlier cluster owns the folder; give this one another`
  const foreign = openings.find((opening) => opening.epoch === epoch)?.gtids.subtract(executed) ?? GtidSet.empty
  if (foreign.isEmpty()) return ''
  const gtids = text(abbreviated(foreign.toString()))
  return say`the archive of epoch ${epoch} began with transactions that this primary does not have (${gtids}): an earlier cluster owns the folder; give this one another`
}

function copiedBy({ gtids }: Pick<Manifest, 'gtids'>): GtidSet {
  return GtidSet.parse(gtids)
}

/**
 * Why the archive does not go on behind a backup; '' where it does, or where there is no archive. The backup may be of
 * a replica that lagged. The next transactions were then shipped before the archive began, or were deleted with older
 * backups.
 * @param archive as read before the backup
 */
export function whyNotRolledOn(backup: Pick<Manifest, 'name' | 'gtids'>, archive: Archive): Said {
  const begins = archive.openings.length === 0 ? undefined : shippedOf({ ...archive, pieces: [] })?.gtids
  const lacking = (begins ?? GtidSet.empty).subtract(copiedBy(backup))
  const gtids = archive.pieces.reduce((left, piece) => left.subtract(gtidsOf(piece)), lacking)
  if (gtids.isEmpty()) return ''
  const lost = say`${counted(gtids.count(), 'transaction')} (${text(abbreviated(gtids.toString()))}) are in neither`
  return say`the archive begins behind backup ${backup.name}: ${lost}. Unless they are shipped out of a binlog, that backup is restored as it is, and to no later moment`
}
