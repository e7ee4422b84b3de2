import { createHash, createHmac } from 'node:crypto'

/** A public key of a host as a known hosts file has it. */
export interface HostKey {
  readonly type: string
  readonly base64: string
}

/** What ssh writes for a host: other ports than 22 stand behind brackets. */
function nameOf(host: string, port: number): string {
  return port === 22 ? host : `[${host}]:${port}`
}

/** The keys that a known hosts file has of a host, but for those that a line of that file revokes. */
export function knownKeys(text: string, host: string, port: number): readonly HostKey[] {
  const name = nameOf(host, port)
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/))
  const revoked = revokedIn(lines)
  return lines.flatMap(([names = '', type = '', base64 = '']) => {
    const isKey = base64 !== '' && !names.startsWith('#') && !names.startsWith('@') && !revoked.has(base64)
    return isKey && names.split(',').some((one) => isNamed(one, name)) ? [{ type, base64 }] : []
  })
}

/** Whatever hosts such a line names, by patterns as well: a key that somebody may have stolen is no host's. */
function revokedIn(lines: readonly (readonly string[])[]): ReadonlySet<string> {
  return new Set(lines.flatMap(([mark, , , base64 = '']) => (mark === '@revoked' ? [base64] : [])))
}

/** As it stands, or hashed: `|1|salt|HMAC-SHA1 of the name`. */
function isNamed(written: string, name: string): boolean {
  const [, salt, hash] = /^\|1\|([^|]+)\|([^|]+)$/.exec(written) ?? []
  if (salt === undefined) return written === name
  return createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest('base64') === hash
}

/** `SHA256:…`, as ssh-keygen -l prints it. */
export function fingerprintOf(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
}

/** The type that a key itself names: a text with its length before it. */
export function typeOf(key: Buffer): string {
  const length = key.length < 4 ? 0 : key.readUInt32BE(0)
  return key.toString('latin1', 4, 4 + Math.min(length, 64))
}

/** What is to be asked for, so that a server shows a key of a type that is known here. */
export function algorithmsFor(keys: readonly HostKey[]): readonly string[] {
  const types = new Set(keys.map(({ type }) => type))
  return [...types].flatMap((type) => (type === 'ssh-rsa' ? ['rsa-sha2-512', 'rsa-sha2-256'] : [type]))
}
