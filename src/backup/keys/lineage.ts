import { createHmac } from 'node:crypto'

/**
 * The identity of a cluster, whatever its name. @param secret the secret that the passwords of its accounts are derived
 * from
 */
export function lineageOf(secret: string): string {
  return createHmac('sha256', secret).update('lineage of backups').digest('hex').slice(0, 32)
}
