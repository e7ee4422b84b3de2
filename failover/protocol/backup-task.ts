import { createHash } from 'node:crypto'
import { integer, objectOf, optional, type Shaped } from '#common/input/shapes.ts'
import type { BackupSettings } from './backup-settings.ts'
import { backupStore } from './backup-store.ts'

/** What an agent needs to know of the settings of backups: what it does by itself while it is the primary's. */
export const backupTask = objectOf({
  store: backupStore,
  retention: objectOf({ last: integer(1, 1_000), days: integer(0, 1_000), weeks: integer(0, 1_000) }),
  archive: objectOf({ everySeconds: integer(0, 3_600) }),
  heartbeat: optional(objectOf({ everySeconds: integer(0, 60) })),
})

export type BackupTask = Shaped<typeof backupTask>

/** Null where no backups are made. */
export function backupTaskOf(settings: BackupSettings | undefined): BackupTask | null {
  if (settings === undefined) return null
  const { store, retention, archive, heartbeat } = settings
  return { store, retention, archive, heartbeat }
}

/** How often the primary writes a heartbeat; 0 for never. */
export function heartbeatMsOf(task: BackupTask | null): number {
  return (task?.heartbeat?.everySeconds ?? 0) * 1_000
}

/** Another text for each task; '' for none. */
export function backupTaskText(task: BackupTask | null): string {
  if (task === null) return ''
  const parts = [task.store, task.retention, task.archive, task.heartbeat ?? {}].map((part) =>
    Object.entries(part).sort(),
  )
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}
