import type { BackupsSeen } from '#topology/snapshot/copies.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { counter, type Value } from './prometheus-text.ts'

/**
 * Metrics of a primary with a store of backups. A cluster without backups has none, so that no alert speaks of the
 * cluster.
 */
export function backupValues({ backups, binlogArchive }: Observation): readonly Value[] {
  return [
    ...(backups === undefined ? [] : storeValues(backups)),
    ...(binlogArchive === undefined ? [] : archiveValues(binlogArchive)),
  ]
}

/** An alert on an age compares with `time()`, so that no look is needed. */
function storeValues({ answers, whole, leftovers, newest, verified }: BackupsSeen): readonly Value[] {
  return [
    ['regent_backup_store_answers', '1 while the last look at the store of backups came to its end', Number(answers)],
    ['regent_backup_whole', 'backups that are whole', whole],
    ['regent_backup_unfinished', 'runs without a manifest, those under way among them', leftovers],
    ['regent_backup_newest_timestamp_seconds', 'when the copy of the newest ended', secondsOf(newest?.endedAtMs)],
    ['regent_backup_newest_bytes', 'that the newest takes in the store', newest?.storedBytes ?? null],
    ['regent_backup_newest_duration_seconds', 'that the newest took to be made', secondsOf(newest?.tookMs)],
    [
      'regent_backup_verified_timestamp_seconds',
      'when a backup was last proven by a restore',
      secondsOf(verified?.verifiedAtMs),
    ],
    ['regent_backup_restore_duration_seconds', 'that this restore took', secondsOf(verified?.restoreMs)],
  ]
}

function archiveValues({ behindMs, hole, trouble }: NonNullable<Observation['binlogArchive']>): readonly Value[] {
  return [
    ['regent_backup_recovery_point_seconds', 'that a restore would lack', secondsOf(behindMs)],
    ['regent_backup_archive_ships', '1 while nothing keeps binlogs from the store', Number(trouble === '')],
    ['regent_backup_archive_hole', '1 while no restore reaches what was lost of the archive', Number(hole !== '')],
  ]
}

/** Failures at any instance: replicas make backups, and rehearse restores. */
export function backupFailures(labels: string, { backupFailures: failures }: Observation): string {
  if (failures === undefined) return ''
  const rows = Object.entries(failures).map(
    ([work, times]) => [`${labels.slice(0, -1)},kind="${work}"}`, times] as const,
  )
  return counter('regent_backup_failures_total', 'work for backups that failed since the agent started', rows)
}

function secondsOf(ms: number | null | undefined): number | null {
  return ms === undefined || ms === null ? null : ms / 1_000
}
