import type { Plan } from '#backup/restore/restore-plan.ts'
import { RegentError } from '#common/errors/errors.ts'
import { counted, say, text, type Said } from '#common/sentence/sentence.ts'
import { abbreviated } from '#common/text/words.ts'
import type { BackupToSeedFrom } from '#failover/protocol/backup-store.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { BackupPort } from '#agents/ports/backup-port.ts'
import type { TellProgress } from '#agents/ports/server.ts'
import { requireAccess } from '../access.ts'
import { planHere } from './plan-here.ts'
import { describeReached } from './reached.ts'
import { rebuilt } from './rebuild.ts'

/**
 * The part of an order that matters here: the place of the backups, and the transactions that the copy must not have.
 */
export interface SeedFromBackup extends BackupToSeedFrom {
  /** Transactions that only this instance had. */
  readonly errant: string
}

interface Tools {
  readonly signal: AbortSignal
  readonly progress: TellProgress
}

/** A folder with a copy, and what the copy is of. */
export interface Seed {
  readonly folder: string
  readonly from: Said
}

/**
 * Fills a folder with the newest state that backup and archive of this very cluster reach, and says what that is.
 * Throws `REGENT_REFUSED` before anything is downloaded.
 */
export async function seedFromBackup(
  parts: Pick<Parts, 'config' | 'observer' | 'volume' | 'world'>,
  port: BackupPort | null,
  from: SeedFromBackup,
  { signal, progress }: Tools,
): Promise<Seed> {
  const { config, volume, world } = parts
  const { open, throwAway, lineage } = requireAccess(port, config.instance)
  const opened = await open(from.store)
  try {
    const { plan, folder, half } = await planHere(parts, { of: from.of }, opened)
    const why = whyNotToSeed(plan, lineage, from)
    if (why !== '') throw new RegentError('REGENT_REFUSED', why, { remedy: '' })
    const reached = await rebuilt(plan, folder, {
      ...opened,
      ...{ throwAway, volume, world, half, signal, own: true, spares: false },
      progress: (stage, percent) => progress(say`backup ${plan.backup.name}: ${stage}`, percent),
    })
    return { folder, from: describeReached(plan, reached) }
  } finally {
    opened.store.close()
  }
}

/**
 * Why a replica may not be seeded so; '' where it may. A replica joins with a tail, never with a hole: the primary must
 * still have what the replica then lacks.
 */
export function whyNotToSeed(
  { backup, gtids }: Pick<Plan, 'backup' | 'gtids'>,
  lineage: string,
  { purged, errant }: Pick<SeedFromBackup, 'errant' | 'purged'>,
): Said {
  const what = say`backup ${backup.name} of cluster ${backup.cluster}`
  if (backup.lineage !== lineage) return say`${what} is of another cluster of that name (lineage ${backup.lineage})`
  const alien = parseGtidSet(errant).intersect(gtids)
  if (!alien.isEmpty())
    return say`${what} holds ${counted(alien.count(), 'transaction')} (${text(abbreviated(alien.toString()))}) that the primary does not have`
  const lost = parseGtidSet(purged).subtract(gtids)
  if (lost.isEmpty()) return ''
  const lacked = say`${counted(lost.count(), 'transaction')} (${text(abbreviated(lost.toString()))})`
  return say`${what} is too old: with the archive it lacks ${lacked} that the primary has in no binlog any more; make a backup`
}
