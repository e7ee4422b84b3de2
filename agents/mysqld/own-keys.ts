import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

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
    const areWhole = await Promise.all(paths.map((path) => readFile(path, 'utf8').then(isWhole, isAbsent)))
    if (areWhole.includes(false)) await Promise.all(paths.map((path) => rm(path, { force: true })))
  }
}

const isWhole = (text: string): boolean => whole.test(text)

/** A file that is not there is not cut off. Rethrows any other error. */
function isAbsent(error: NodeJS.ErrnoException): boolean {
  if (error.code !== 'ENOENT') throw error
  return true
}
