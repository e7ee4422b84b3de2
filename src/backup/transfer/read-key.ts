import { readFile } from 'node:fs/promises'
import { describeError, RegentError } from '#common/errors/errors.ts'
import type { BackupStore } from '#failover/protocol/backup-store.ts'
import { keyBytes } from '../stream/data-key.ts'

/** The key that a person keeps for what lies there; null where none is named. Rejects as `readKey`. */
export async function keyOfStore({ encryptionKeyFile }: BackupStore): Promise<Buffer | null> {
  return encryptionKeyFile === undefined ? null : readKey(encryptionKeyFile)
}

/** 32 bytes, or as many in hexadecimal digits. Throws `REGENT_BAD_FILE`, and says nothing of what is in the file. */
async function readKey(path: string): Promise<Buffer> {
  const content = await readFile(path).catch((error: unknown) => {
    throw new RegentError('REGENT_BAD_FILE', `the key of backups cannot be read: ${describeError(error)}`)
  })
  if (content.length === keyBytes) return content
  const text = content.toString('latin1').trim()
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex')
  throw new RegentError(
    'REGENT_BAD_FILE',
    `${path} holds no key of backups: ${keyBytes} bytes are wanted, or ${keyBytes * 2} hexadecimal digits ("openssl rand -hex 32" makes one)`,
  )
}
