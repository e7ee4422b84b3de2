import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Fsyncs every relay log, the index, and the folder: a receiver does not do that per transaction (docs/why/safety.md,
 * "A machine that crashed").
 */
export async function syncRelayLogs(dataDir: string): Promise<void> {
  const names = (await readdir(dataDir)).filter((name) => name.includes('relay-bin') || name.startsWith('relaylog'))
  await Promise.all([...names.map((name) => join(dataDir, name)), dataDir].map(syncPath))
}

async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  try {
    await file?.sync()
  } finally {
    await file?.close()
  }
}
