import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

/** The start of a backup, in UTC: `20261126T031209Z`. A second backup of the same second is `20261126T031209Z-02`. */
export type BackupName = string

const form = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z(?:-(?:0[2-9]|[1-9]\d))?$/

/**
 * The name of a backup that begins at this time. Names are in the order of their times.
 * @param taken names that are in use. Throws `REGENT_REFUSED` where 99 backups of one second are.
 */
export function backupName(wallMs: number, taken: ReadonlySet<BackupName> = new Set()): BackupName {
  const second = `${new Date(wallMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
  const names = Array.from({ length: 99 }, (_, at) =>
    at === 0 ? second : `${second}-${String(at + 1).padStart(2, '0')}`,
  )
  const free = names.find((name) => !taken.has(name))
  if (free === undefined)
    throw new RegentError('REGENT_REFUSED', say`backup ${second} has 98 others of its second: begin one a second later`)
  return free
}

/** The second in which a backup of this name began, in milliseconds; null for a text that is no name of a backup. */
export function secondOf(name: string): number | null {
  const found = form.exec(name)
  if (found === null) return null
  const [, year, month, day, hour, minute, second] = found
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  // JavaScript reads the 31st of June as the 1st of July.
  return Number.isNaN(ms) || backupName(ms) !== name.slice(0, 16) ? null : ms
}
