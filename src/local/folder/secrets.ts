import { randomBytes } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import { newAccountSecret, passwordFor } from '#common/mysql/account-password.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { replaceFile } from '../files/durable-file.ts'
import { isMissing, readText } from '../files/input-file.ts'
import { volumeOf, type StateLayout } from './state-layout.ts'

/** MySQL accounts that people and applications use; the others are the agents' own. */
export const clientUser = 'client'
export const adminUser = 'admin'

/**
 * Makes the cluster's secrets where they are missing, each in a 0600 file of a 0700 folder; existing ones are kept.
 * Throws `REGENT_SECRET_LOST` where every password of existing volumes would change: their servers would let nobody in,
 * this cluster's agents included.
 */
export async function ensureSecrets(layout: StateLayout): Promise<void> {
  await mkdir(layout.secrets, { recursive: true, mode: 0o700 })
  await ensureSecret(layout.apiToken)
  await ensureSecret(layout.agentToken)
  const secret = (await hasVolumes(layout))
    ? await sameSecret(layout)
    : await ensureSecret(layout.accountSecret, newAccountSecret)
  await replaceFile(layout.clientPassword, `${passwordFor(secret, clientUser)}\n`)
  await replaceFile(layout.adminPassword, `${passwordFor(secret, adminUser)}\n`)
}

/** The password of `client` or `admin`: from its file, else derived again. */
export async function passwordOf(layout: StateLayout, user: typeof clientUser | typeof adminUser): Promise<string> {
  const path = user === adminUser ? layout.adminPassword : layout.clientPassword
  return (await secretIfThere(path)) ?? passwordFor(await readSecret(layout.accountSecret), user)
}

/** The secret that the volumes were made with. The passwords in files beside it tell whether it is another. */
async function sameSecret(layout: StateLayout): Promise<string> {
  const secret = await secretIfThere(layout.accountSecret)
  const kept = await secretIfThere(layout.adminPassword).catch(() => undefined)
  const wrong =
    secret === undefined
      ? say`is missing`
      : kept !== undefined && kept !== passwordFor(secret, adminUser)
        ? say`is not the one that the volumes were made with`
        : undefined
  if (secret !== undefined && wrong === undefined) return secret
  const lost = say`the secret of all passwords, ${layout.accountSecret}, ${wrong}, and ${layout.instances} holds volumes`
  throw new RegentError(
    'REGENT_SECRET_LOST',
    say`${lost}: it is never made anew over them, for their servers would let nobody in. Put back a copy of the file`,
  )
}

/** Volumes on which a server was made, or may have been. */
async function hasVolumes(layout: StateLayout): Promise<boolean> {
  const names = await namesIn(layout.instances)
  const contents = await Promise.all(names.map((name) => namesIn(volumeOf(layout, name))))
  return contents.some((entries) => entries.includes('data'))
}

/** A file in the place of a folder has no names in it. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return []
    throw error
  }
}

/** A secret without the white space around it. Throws `REGENT_BAD_FILE` naming the file, never its content. */
export async function readSecret(path: string): Promise<string> {
  return (await readText(path, say`the secret in`)).trim()
}

async function secretIfThere(path: string): Promise<string | undefined> {
  try {
    return await readSecret(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

async function ensureSecret(path: string, made = (random: string) => random): Promise<string> {
  const before = await secretIfThere(path)
  if (before !== undefined) return before
  const secret = made(randomBytes(32).toString('base64url'))
  await replaceFile(path, `${secret}\n`)
  return secret
}
