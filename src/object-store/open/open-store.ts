import { realWorld } from '#common/ports/real-world.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { FolderStore } from '../folder/folder-store.ts'
import type { ObjectStore } from '../object-store.ts'
import type { S3Options } from '../s3/s3-options.ts'
import { parseStoreAddress } from '../store-address.ts'
import { Throttle } from './throttle.ts'
import { throttledStore } from './throttled-store.ts'

export interface OpenStoreOptions {
  readonly s3?: S3Options | undefined
  /** What all puts together may send in a second. Absent: no limit. */
  readonly bytesPerSecond?: number | undefined
}

/**
 * Opens the store at an address that `parseStoreAddress` reads. A folder must be there; of a bucket nothing is asked
 * yet.
 * @throws RegentError `REGENT_BAD_REQUEST` for what cannot work, `REGENT_BACKUP_STORE`
 */
export async function openStore(text: string, { s3, bytesPerSecond }: OpenStoreOptions = {}): Promise<ObjectStore> {
  const address = parseStoreAddress(text)
  if (address.kind === 'folder' && s3 !== undefined)
    throw new RegentError('REGENT_BAD_REQUEST', say`Options of S3 are given for a store of backups that is a folder.`)
  const throttle = bytesPerSecond === undefined ? undefined : new Throttle(requireRate(bytesPerSecond), realWorld)
  const store = address.kind === 'folder' ? await FolderStore.open(address.folder) : await bucketStore()
  return throttle === undefined ? store : throttledStore(store, throttle)

  async function bucketStore(): Promise<ObjectStore> {
    // The client of S3 is 37 MB of memory: only where a bucket is used.
    const { openS3Store } = await import('../s3/s3-store.ts')
    return openS3Store(address as Extract<typeof address, { kind: 's3' }>, s3)
  }
}

function requireRate(bytesPerSecond: number): number {
  if (Number.isFinite(bytesPerSecond) && bytesPerSecond >= 1_024) return bytesPerSecond
  const message = say`A store of backups takes ${bytesPerSecond} bytes in a second as its limit; it must be 1024 or more.`
  throw new RegentError('REGENT_BAD_REQUEST', message)
}
