import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { keyBytes } from '#backup/stream/data-key.ts'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import type { BackupPort } from '../ports/backup-port.ts'
import type { ThrowAwayPort } from '../ports/throw-away.ts'

/** @param secret from which the passwords of the cluster's accounts are derived */
export function realBackupPort(secret: string, throwAway: ThrowAwayPort): BackupPort {
  return {
    throwAway,
    lineage: createHmac('sha256', secret).update('lineage of backups').digest('hex').slice(0, 32),
    open: async (where) => ({
      store: await openBackupStore(where),
      key: where.encryptionKeyFile === undefined ? null : await readKey(where.encryptionKeyFile),
    }),
  }
}

/** 32 bytes, or as many in hexadecimal digits. Throws `REGENT_BAD_FILE`, and says nothing of what is in the file. */
export async function readKey(path: string): Promise<Buffer> {
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
