import { exactly, integer, matching, objectOf, text, type Shaped } from '#common/input/shapes.ts'
import { say, type Said } from '#common/sentence/sentence.ts'
import { formatVersion, readStored, unusable, writeStored } from './stored-json.ts'

const shape = objectOf({
  formatVersion: exactly(formatVersion),
  cluster: text(1, 128),
  lineage: matching('^[0-9a-f-]{8,64}$'),
  claimedAtMs: integer(0, 9_999_999_999_999),
})

/**
 * The cluster that may write to a folder. The first cluster that writes puts this object there, if absent. A new
 * cluster that was restored from the owner has another lineage, even with the same name: two histories in one archive
 * would be none.
 */
export type Owner = Shaped<typeof shape>

export function ownerText(owner: Owner): string {
  return writeStored(owner)
}

/** Throws `REGENT_NEWER_VERSION` or `REGENT_BACKUP_UNUSABLE`. */
export function parseOwner(stored: string, cluster: string): Owner {
  const what = say`owner of ${cluster}`
  const owner = readStored(stored, shape, what)
  if (owner.cluster !== cluster) throw unusable(what, say`it names cluster ${owner.cluster}`)
  return owner
}

/**
 * Why a cluster of this lineage may not write there; '' where the cluster may. A folder without an owner is open to
 * any.
 */
export function whyNotOwner(owner: Owner | null, cluster: string, lineage: string): Said {
  if (owner === null || owner.lineage === lineage) return ''
  const other = say`another cluster of that name (lineage ${owner.lineage})`
  return say`folder ${cluster}/ of the store has the backups of ${other}: give this cluster (lineage ${lineage}) another store, or another folder`
}
