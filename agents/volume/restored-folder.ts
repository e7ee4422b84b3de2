import { access, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '#common/files/sync-folder.ts'

/** The file in a data folder that came out of a backup: it names the backup, and stays there. */
const restoredName = 'regent-restored'
/** The note is stored with what an agent has promised, where there is little room. */
const longestNote = 1_024
/** Beside that, until the server of the folder has taken the accounts of this cluster. */
const accountsName = 'regent-restored-accounts'

/** Before the folder takes its place: whatever dies then, no mysqld serves with accounts of another cluster. */
export async function markRestored(folder: string, from: string): Promise<void> {
  await writeFile(join(folder, accountsName), '', { flush: true })
  await noteRestored(folder, from)
}

/** What the folder came out of, in words. */
export async function noteRestored(folder: string, from: string): Promise<void> {
  await writeFile(join(folder, restoredName), from.slice(0, longestNote), { flush: true })
  await syncFolder(folder)
}

export function restoredFrom(dataDir: string): Promise<string | undefined> {
  return readFile(join(dataDir, restoredName), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

export function lacksAccounts(dataDir: string): Promise<boolean> {
  return access(join(dataDir, accountsName)).then(
    () => true,
    () => false,
  )
}

export async function hasAccounts(dataDir: string): Promise<void> {
  await rm(join(dataDir, accountsName), { force: true })
}
