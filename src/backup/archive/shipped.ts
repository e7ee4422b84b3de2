import { counted, say, text, type Said } from '#common/sentence/sentence.ts'
import { abbreviated } from '#common/text/words.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Archive } from './history.ts'
import type { Manifest } from '../objects/manifest.ts'
import { gtidsOf } from '../objects/piece-name.ts'

/** What senders need not ship any more, and where the chain of restores may break. */
export interface Shipped {
  /** In the archive, or in each backup. */
  readonly gtids: GtidSet
  /** What the newest backup holds; what lacks of that hurts older backups alone. */
  readonly copied: GtidSet
}

/**
 * What was shipped so far by whoever led. The archive begins behind the oldest backup, so that each of them can be
 * brought to any moment; without a backup behind what had been executed when its first epoch was opened. Null where
 * there is neither: the archive begins now.
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
 * What pieces hold, as far as each later epoch began with that: a restore leaves out the rest where that epoch begins,
 * also what its primary applied after that. So the rest is shipped again, under the epoch of whoever has it.
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
 * Why a primary of this epoch may not go on with an archive; '' where it may. A later epoch is there where another
 * instance leads meanwhile; or the archive is of a cluster that was there before, under the same name and secret.
 * @param executed what the primary had executed before the archive was read
 */
export function whyOtherHistory({ openings }: Pick<Archive, 'openings'>, epoch: number, executed: GtidSet): Said {
  const later = openings.find((opening) => opening.epoch > epoch)
  if (later !== undefined)
    return say`the archive has epoch ${later.epoch} already, and this primary is of epoch ${epoch}: another instance leads, or a cluster of before owns the folder; then give this one another folder`
  const foreign = openings.find((opening) => opening.epoch === epoch)?.gtids.subtract(executed) ?? GtidSet.empty
  if (foreign.isEmpty()) return ''
  return say`the archive of epoch ${epoch} began with transactions that this primary does not have (${text(abbreviated(foreign.toString()))}): a cluster of before owns the folder; give this one another folder`
}

function copiedBy({ gtids }: Pick<Manifest, 'gtids'>): GtidSet {
  return GtidSet.parse(gtids)
}

/**
 * Why the archive does not go on behind a backup; '' where it does, or where there is none. A replica that lagged may
 * have been copied: what came behind that was shipped before the archive began, or was deleted with older backups.
 * @param archive as it was before the backup
 */
export function whyNotRolledOn(backup: Pick<Manifest, 'name' | 'gtids'>, archive: Archive): Said {
  const begins = archive.openings.length === 0 ? undefined : shippedOf({ ...archive, pieces: [] })?.gtids
  const lacking = (begins ?? GtidSet.empty).subtract(copiedBy(backup))
  const gtids = archive.pieces.reduce((left, piece) => left.subtract(gtidsOf(piece)), lacking)
  if (gtids.isEmpty()) return ''
  return say`the archive begins behind backup ${backup.name}: ${counted(gtids.count(), 'transaction')} (${text(abbreviated(gtids.toString()))}) are in neither. Unless they are shipped out of a binlog, that backup can be restored as it is, and to no later moment`
}
