import { described } from '#common/errors/errors.ts'
import type { BackupSettings } from '#failover/protocol/backup-settings.ts'
import type { BackupStore } from '#failover/protocol/backup-store.ts'
import type { ObjectStore } from '#object-store/object-store.ts'
import type { OpenStoreOptions } from '#object-store/open/open-store.ts'
import { requireS3Options } from '#object-store/s3/s3-options.ts'
import { parseStoreAddress } from '#object-store/store-address.ts'
import { whyBadSchedule } from '../schedule.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'

/** Opens the store that a spec or a command names. Rejects as `openStore`. */
export async function openBackupStore(where: BackupStore): Promise<ObjectStore> {
  // The libraries are loaded on the first use: most processes never open a store, and need not keep them in memory.
  const { openStore } = await import('#object-store/open/open-store.ts')
  return openStore(where.address, optionsOf(where))
}

/**
 * Why nothing can be opened there, as far as can be told without a question to anybody; undefined where the store may
 * be right.
 */
export function complaintAboutStore(where: BackupStore): Sentence | undefined {
  const { s3 } = optionsOf(where)
  try {
    const { kind } = parseStoreAddress(where.address)
    if (s3 !== undefined) requireS3Options(s3)
    return kind === 'folder' && s3 !== undefined ? say`options of S3 are given for a store that is a folder` : undefined
  } catch (error) {
    return say`${described(error)}`
  }
}

/** Why these settings of backups cannot work, for the reader of a spec; undefined where they may be right. */
export function complaintAboutBackup({ store, schedule, timeZone, rehearsal }: BackupSettings): Sentence | undefined {
  const complaint = complaintAboutStore(store)
  if (complaint !== undefined) return say`the store of backups cannot be opened: ${complaint}`
  const schedules = [
    ['backup.schedule', schedule],
    ['backup.rehearsal.schedule', rehearsal.schedule],
    // A time zone without a schedule would be found wrong on the day a schedule is given.
    ['backup', '@daily'],
  ] as const
  const why = schedules.map(([what, cron]) => (cron === null ? '' : whyBadSchedule(what, { cron, timeZone })))
  return why.find((each) => each !== '')
}

function optionsOf(where: BackupStore): OpenStoreOptions {
  const { address, credentialsFolder, folder: _folder, encryptionKeyFile: _key, allowPlain: _plain, ...rest } = where
  const { bytesPerSecond: _rate, ...s3 } = rest
  const credentials =
    credentialsFolder === undefined ? undefined : ({ kind: 'folder', folder: credentialsFolder } as const)
  const isBucket = /^s3:/i.test(address) || Object.keys(s3).length > 0 || credentials !== undefined
  return isBucket ? { s3: { ...s3, credentials } } : {}
}
