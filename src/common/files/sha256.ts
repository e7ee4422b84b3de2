import { createHash } from 'node:crypto'

/** SHA-256 of these bytes, in hexadecimal digits as `sha256sum` prints them. */
export function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
