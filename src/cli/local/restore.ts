import type { ClusterView } from '#api-contract/views.ts'
import { describePlan, type Plan } from '#backup/restore/restore-plan.ts'
import { bytesOfData, bytesToRestore, mayGrowBy, whyNoRoom, type ReplaySize } from '#backup/restore/space.ts'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import { planOf } from '#backup/transfer/plan-from-store.ts'
import { requireKeys } from '#backup/transfer/require-keys.ts'
import { requireParts } from '#backup/transfer/require-parts.ts'
import { keyOfStore } from '#backup/transfer/read-key-file.ts'
import { RegentError } from '#common/errors/errors.ts'
import { counted, mebibytes, say, type Said } from '#common/sentence/sentence.ts'
import type { BackupToRestore } from '#failover/protocol/backup-store.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import { folderOf } from '#local/clusters/cluster-index.ts'
import { freeBytesAt } from '#local/clusters/prepare.ts'
import { readClusterIfThere } from '#local/folder/cluster-file.ts'
import { composeSpec } from '#local/folder/spec-file.ts'
import { findMysql } from '#local/packages/mysql-binaries.ts'
import { openLocal } from '../connection/connect.ts'
import type { Io } from '../terminal/io.ts'
import type { UpOptions } from './up/up-options.ts'
import { up } from './up/up.ts'

/** Where the new cluster is to be, and how many copies of the data it has there. */
type RestoredAt = Pick<ClusterSpec, 'instances' | 'lowSpaceBytes'> & { readonly dir: string }

/** Refused where a cluster of that name is there: nothing is restored over data. */
export async function restoreLocally(
  io: Io,
  name: string,
  options: UpOptions,
  restore: BackupToRestore,
): Promise<void> {
  const dir = options.data ?? (await folderOf(name))
  const there = say`${name} is there already, in ${dir}, and nothing is restored over data`
  if ((await readClusterIfThere(dir)) !== undefined)
    throw new RegentError(
      'REGENT_REFUSED',
      say`${there}: choose another name, or after a backup (regent backup now) end this one (regent local down --purge)`,
      { remedy: '' },
    )
  const spec = await composeSpec(name, options.config, options)
  await requirePossible(io, restore, { dir, ...spec })
  await up(io, name, { ...options, restore })
  const reached = await reachedBy(dir, name)
  if (reached !== undefined) io.note(`${name} began with ${reached}`)
}

/** What cannot be is refused before anything is made: another key, a lost part, a hole, a moment out of the window. */
async function requirePossible(io: Io, { store: where, ...wanted }: BackupToRestore, at: RestoredAt): Promise<void> {
  const { version } = await findMysql((line) => io.note(line))
  const [key, store] = [await keyOfStore(where), await openBackupStore(where)]
  try {
    const plan = await planOf(wanted, { store, key }, version)
    await requireParts(plan.backup, store, { signal: io.interrupted() })
    const doubt = await requireRoom(plan, await requireKeys(plan, { store, key }), at)
    if (doubt !== '') io.note(String(doubt))
    io.note(String(describePlan(plan)))
  } finally {
    store.close()
  }
}

/**
 * The first instance is restored; the others, on the same volume, become copies of the first.
 *
 * @returns what is to be said of room that may not be enough; '' for nothing
 */
export async function requireRoom(
  { backup, steps }: Pick<Plan, 'backup' | 'steps'>,
  size: ReplaySize,
  { dir, instances, lowSpaceBytes }: RestoredAt,
): Promise<Said> {
  const besidesBytes = (instances - 1) * bytesOfData(backup) + lowSpaceBytes
  const [replay, freeBytes] = [steps.length === 0 ? null : size, await freeBytesAt(dir)]
  const of = say`on the volume of ${dir} for ${counted(instances, 'instance')}`
  const why = whyNoRoom({ backup, replay, besidesBytes, freeBytes }, of)
  const mayLackBytes = bytesToRestore(backup, replay) + besidesBytes + instances * mayGrowBy(replay) - freeBytes
  if (why === '')
    return mayLackBytes <= 0
      ? ''
      : say`where the ${mebibytes(size.bytes)} of binary logs to replay only insert rows, ${mebibytes(mayLackBytes)} more may be needed ${of}`
  const remedy = 'Choose a folder on a larger volume with --data, or fewer instances with --instances.'
  throw new RegentError('REGENT_REFUSED', why, { remedy })
}

/** The agent's own words, by the view of the cluster. */
async function reachedBy(dir: string, name: string): Promise<string | undefined> {
  const cluster = await readClusterIfThere(dir)
  if (cluster === undefined) return undefined
  const view = await (await openLocal(dir, cluster)).get<ClusterView>(`/clusters/${name}`, 5_000)
  return view.instances.find(({ restored }) => restored !== undefined)?.restored
}
