import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { passwordFor } from '../common/account-password.ts'
import { replaceFile } from './durable-file.ts'
import { isMissing, readText } from './input-file.ts'
import type { StateLayout } from './state-layout.ts'

/** MySQL accounts that people and applications use; the others are the agents' own. */
export const clientUser = 'client'
export const adminUser = 'admin'

/** Makes the cluster's secrets where they are missing, each in a 0600 file of a 0700 folder; existing ones are kept. */
export async function ensureSecrets(layout: StateLayout): Promise<void> {
  await mkdir(layout.secrets, { recursive: true, mode: 0o700 })
  await ensureSecret(layout.apiToken)
  await ensureSecret(layout.agentToken)
  const secret = await ensureSecret(layout.accountSecret)
  await replaceFile(layout.clientPassword, `${passwordFor(secret, clientUser)}\n`)
  await replaceFile(layout.adminPassword, `${passwordFor(secret, adminUser)}\n`)
}

/** A secret without the white space around it. Throws `REGENT_BAD_FILE` naming the file, never its content. */
export async function readSecret(path: string): Promise<string> {
  return (await readText(path, 'the secret in')).trim()
}

async function ensureSecret(path: string): Promise<string> {
  try {
    return await readSecret(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  const secret = randomBytes(32).toString('base64url')
  await replaceFile(path, `${secret}\n`)
  return secret
}
