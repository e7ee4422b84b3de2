import { createHmac } from 'node:crypto'

/** Which cluster this is, whatever its name. @param secret from which the passwords of its accounts are derived */
export function lineageOf(secret: string): string {
  return createHmac('sha256', secret).update('lineage of backups').digest('hex').slice(0, 32)
}
