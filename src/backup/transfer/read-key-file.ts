import { readFile } from 'node:fs/promises'
import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { BackupStore } from '#failover/protocol/backup-store.ts'
import { keyBytes } from '../keys/data-key.ts'
import { KeyRing } from '../keys/key-ring.ts'

/** The keys that a person keeps for the store; null where none is named. Rejects as `readKeys`. */
export async function keyOfStore({ encryptionKeyFile, allowPlain }: BackupStore): Promise<KeyRing | null> {
  if (encryptionKeyFile === undefined) return null
  return new KeyRing(await readKeys(encryptionKeyFile), { takesPlain: allowPlain === true })
}

const keyForm = /^[0-9a-fA-F]{64}$/

/**
 * A key has 32 bytes. A file may have the same in hexadecimal digits: then a key a line, the newest first. Throws
 * `REGENT_BAD_FILE`, and says nothing of the file's content.
 */
async function readKeys(path: string): Promise<readonly [Buffer, ...Buffer[]]> {
  const content = await readFile(path).catch((error: unknown) => {
    throw new RegentError('REGENT_BAD_FILE', say`the key of backups cannot be read: ${described(error)}`)
  })
  if (content.length === keyBytes) return [content]
  const lines = content.toString('latin1').split(/\s+/)
  const [first, ...others] = lines.filter((line) => line !== '')
  if (first !== undefined && [first, ...others].every((line) => keyForm.test(line)))
    return [Buffer.from(first, 'hex'), ...others.map((line) => Buffer.from(line, 'hex'))]
  throw new RegentError(
    'REGENT_BAD_FILE',
    say`${path} holds no key of backups: ${keyBytes} bytes are wanted, or ${keyBytes * 2} hexadecimal digits a line ("openssl rand -hex 32" makes one)`,
  )
}
