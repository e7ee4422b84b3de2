import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Archive } from './history.ts'
import type { Manifest } from './manifest.ts'
import { gtidsOf } from './piece-name.ts'

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
  const first = openings.toSorted((one, other) => one.epoch - other.epoch)[0]
  const begins = oldest === undefined ? first?.gtids : copiedBy(oldest)
  if (begins === undefined) return null
  return {
    gtids: pieces.reduce((all, piece) => all.union(gtidsOf(piece)), begins),
    copied: newest === undefined ? begins : copiedBy(newest),
  }
}

function copiedBy({ gtids }: Manifest): GtidSet {
  return GtidSet.parse(gtids)
}
