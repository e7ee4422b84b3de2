import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { BackupKey } from '../objects/object-key.ts'
import type { Manifest } from '../objects/manifest.ts'
import type { Opening } from '../objects/opening.ts'
import { isIn, type Piece } from '../objects/piece-name.ts'
import { sumOf, type Item, type Known, type Stock, type Sweep } from './sweep.ts'

type PieceKey = Extract<BackupKey, { readonly kind: 'piece' }>
type OpeningKey = Extract<BackupKey, { readonly kind: 'opening' }>
type InArchive = Known<PieceKey> | Known<OpeningKey>

/** A backup that stays. */
interface Kept {
  readonly manifest: Manifest
  readonly copied: GtidSet
  /** The newest epoch whose beginning the backup holds: the backup needs nothing of older epochs. */
  readonly epoch: number
}

/**
 * Sorts the pieces into those that a kept backup needs, and the rest. A hole does not matter here: a hole may be
 * closed, and then the pieces behind it are needed. @param left the objects that stay of the rest
 */
export function sweepArchive(left: readonly Known[], { manifests, openings }: Stock): Sweep {
  const pieces = left.filter((known): known is Known<PieceKey> => known.key.kind === 'piece')
  const begun = left.filter((known): known is Known<OpeningKey> => known.key.kind === 'opening')
  const names = left.flatMap(({ key }) => (key.kind === 'manifest' ? [key.name] : []))
  const kept = manifests.filter(({ name }) => names.includes(name)).map((manifest) => keptOf(manifest, openings))
  const unread = names.find((name) => !kept.some(({ manifest }) => manifest.name === name))
  const oldest = kept.toSorted((one, other) => one.copied.count() - other.copied.count())[0]
  if (unread !== undefined)
    return keepAll(pieces, begun, say`since the manifest of backup ${unread} cannot be read: that backup may need them`)
  if (oldest === undefined) return keepAll(pieces, begun, say`since no backup is whole`)
  return byEpoch(pieces, begun, { kept, oldest })
}

function keptOf(manifest: Manifest, openings: readonly Opening[]): Kept {
  const copied = GtidSet.parse(manifest.gtids)
  const held = openings.filter(({ epoch, gtids }) => epoch <= manifest.epoch && copied.contains(gtids))
  return { manifest, copied, epoch: Math.max(-1, ...held.map(({ epoch }) => epoch)) }
}

interface Backups {
  readonly kept: readonly Kept[]
  readonly oldest: Kept
}

function byEpoch(
  pieces: readonly Known<PieceKey>[],
  begun: readonly Known<OpeningKey>[],
  { kept, oldest }: Backups,
): Sweep {
  const newest = newestOf(pieces)
  const sweep = { delete: [] as Item[], keep: [] as Item[] }
  const needs = oldest.manifest.name
  for (const [epoch, all] of Map.groupBy([...pieces, ...begun], epochOf)) {
    const needed = new Set(all.filter((known) => known === newest || isNeeded(known, kept)))
    const stays = (known: InArchive) => needed.has(known) || (known.key.kind === 'opening' && needed.size > 0)
    const [stay, go] = [all.filter(stays), all.filter((known) => !stays(known))]
    if (stay.length > 0)
      sweep.keep.push(
        item(
          stay,
          say`epoch ${epoch} of the archive has ${counted(stay.length, 'object')} that backup ${needs} may need`,
        ),
      )
    if (go.length > 0)
      sweep.delete.push(
        item(
          go,
          say`epoch ${epoch} of the archive has ${counted(go.length, 'object')} with nothing that backup ${needs} lacks`,
        ),
      )
  }
  return sweep
}

/** The newest piece stays: its sender looks there how far the archive goes. */
function newestOf(pieces: readonly Known<PieceKey>[]): Known<PieceKey> | undefined {
  const place = ({ epoch, preceding }: Piece) => [epoch, preceding] as const
  return pieces.reduce<Known<PieceKey> | undefined>((best, known) => {
    if (best === undefined) return known
    const [one, other] = [place(known.key.piece), place(best.key.piece)]
    return one[0] > other[0] || (one[0] === other[0] && one[1] > other[1]) ? known : best
  }, undefined)
}

function isNeeded({ key }: InArchive, kept: readonly Kept[]): boolean {
  const epoch = key.kind === 'piece' ? key.piece.epoch : key.epoch
  // The opening of the epoch that a backup begins in is needed, and that of each later epoch.
  if (key.kind === 'opening') return kept.some((each) => epoch >= each.epoch)
  const { piece } = key
  return kept.some((each) => epoch >= each.epoch && !isIn(each.copied, piece))
}

function epochOf({ key }: InArchive): number {
  return key.kind === 'piece' ? key.piece.epoch : key.epoch
}

function keepAll(pieces: readonly Known[], begun: readonly Known[], since: Sentence): Sweep {
  const all = [...pieces, ...begun]
  const keep =
    all.length === 0 ? [] : [item(all, say`the archive keeps all of ${counted(all.length, 'object')}, ${since}`)]
  return { delete: [], keep }
}

function item(objects: readonly Known[], why: Sentence): Item {
  return { kind: 'archive', ...sumOf(objects), why }
}
