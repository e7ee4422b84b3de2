import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { firstFolderNumber, folderNumbers, serverIdOf } from '#failover/protocol/server-id.ts'
import { syncFolder } from '#common/files/sync-folder.ts'
import { writeSynced } from '#common/files/write-synced.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'

/** In the data folder itself, and gone with it: a copy that takes the place of that folder is another server. */
export const folderNumberFile = 'regent-server-number'
/** Where a server keeps its `server_uuid`; it makes one at its first start. */
const uuidFile = 'auto.cnf'

/** The `server_id` of whatever server runs on this folder; undefined where none ever did, or the folder is gone. */
export async function readServerId(dataDir: string, instance: InstanceName): Promise<number | undefined> {
  const number = await readFolderNumber(dataDir)
  return number === undefined ? undefined : serverIdOf(instance, number)
}

/**
 * The same for a server that is about to start: on data without a server so far it is new. A folder that has a
 * `server_uuid` and no number is of an older version, and keeps what that version gave. Undefined where there is no
 * data: nothing starts there, and a number would keep the folder from being initialised.
 */
export async function ensureServerId(dataDir: string, instance: InstanceName): Promise<number | undefined> {
  const known = await readServerId(dataDir, instance)
  if (known !== undefined || (await isEmpty(dataDir))) return known
  return serverIdOf(instance, await writeFolderNumber(dataDir))
}

async function isEmpty(dataDir: string): Promise<boolean> {
  const entries = await readdir(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return entries.every((name) => name === 'lost+found')
}

/** On the disk once it resolves, and never another one for this folder. */
export async function writeFolderNumber(dataDir: string): Promise<number> {
  const number = randomInt(firstFolderNumber, folderNumbers)
  const path = join(dataDir, folderNumberFile)
  await writeSynced(path, `${number}\n`, 0o666)
  await syncFolder(dataDir)
  return number
}

/**
 * The next server on this folder is another one: with another `server_uuid`, and another `server_id`. In this order:
 * without its number, a folder that still has a `server_uuid` would be taken for one of an older version.
 */
export async function forgetServer(dataDir: string): Promise<void> {
  await rm(join(dataDir, uuidFile), { force: true })
  await syncFolder(dataDir)
  await rm(join(dataDir, folderNumberFile), { force: true })
  await syncFolder(dataDir)
}

/** Null for a folder of an older version, undefined where there is none, or a hand has spoilt what was there. */
async function readFolderNumber(dataDir: string): Promise<number | null | undefined> {
  const text = await readFile(join(dataDir, folderNumberFile), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return existsSync(join(dataDir, uuidFile)) ? null : undefined
  const number = Number(text)
  return Number.isInteger(number) && number >= firstFolderNumber && number < folderNumbers ? number : undefined
}
