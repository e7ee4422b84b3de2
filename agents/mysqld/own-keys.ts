import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { realDisk } from '#common/ports/real-world.ts'

/**
 * Keys and certificates that mysqld makes in its data folder, each set only where all of it is missing (manual,
 * "Creating SSL and RSA Certificates and Keys using MySQL").
 */
const sets = [
  ['ca-key.pem', 'ca.pem', 'client-cert.pem', 'client-key.pem', 'server-cert.pem', 'server-key.pem'],
  ['private_key.pem', 'public_key.pem'],
]
const whole = /^-----BEGIN [^-]+-----\n[^]*\n-----END [^-]+-----\s*$/

/**
 * Removes each set of which a file is cut off, so that mysqld makes new ones. mysqld syncs none of them to the disk: a
 * machine that loses its power soon after leaves them empty, and mysqld never starts with an empty key (seen on 9.7).
 */
export async function removeCutOffKeys(dataDir: string): Promise<void> {
  for (const set of sets) {
    const paths = set.map((name) => join(dataDir, name))
    const files = await Promise.all(paths.map((path) => realDisk.read(path)))
    if (files.some(isCutOff)) await Promise.all(paths.map((path) => rm(path, { force: true })))
  }
}

/** A file that is not there is not cut off. */
function isCutOff(file: Uint8Array | undefined): boolean {
  return file !== undefined && !whole.test(String(file))
}
