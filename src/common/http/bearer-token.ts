import { createHash, timingSafeEqual } from 'node:crypto'
import { open } from 'node:fs/promises'
import { described, RegentError } from '../errors/errors.ts'
import { say, type Sayable } from '../sentence/sentence.ts'

const shortestToken = 16
const longestToken = 1_024

/**
 * The bearer token in a file, without white space around it. Throws `REGENT_BAD_FILE` where the file is missing,
 * readable by others than its owner, or holds no usable token. The token itself is never part of a message. Somebody
 * else's file may be readable by its group: so a Secret comes into a pod, root's and readable by the pod's group.
 */
export async function readTokenFile(path: string): Promise<string> {
  const { text, mode, uid } = await readWithMode(path)
  if ((mode & (uid === process.getuid?.() ? 0o077 : 0o037)) !== 0) {
    throw bad(
      path,
      say`may be read by others than its owner (mode ${(mode & 0o777).toString(8)}); run: chmod 600 ${path}`,
    )
  }
  const token = text.trim()
  if (token.length < shortestToken || token.length > longestToken) {
    throw bad(path, say`holds ${token.length} characters; a token has ${shortestToken} to ${longestToken}`)
  }
  if (!/^[\x21-\x7e]+$/.test(token))
    throw bad(path, say`holds white space or characters other than visible ASCII inside the token`)
  return token
}

/** Whether an `Authorization` header carries this token. */
export function carriesToken(authorization: string | undefined, token: string): boolean {
  const offered = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
  return isSameSecret(offered ?? '', token) && offered !== undefined
}

/** Digests are compared, in constant time: neither the content nor the length can be measured from outside. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

async function readWithMode(path: string): Promise<{ text: string; mode: number; uid: number }> {
  try {
    // The mode is asked of the open file, not of the path: nobody can put another file there in between.
    await using file = await open(path, 'r')
    const { mode, uid } = await file.stat()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(longestToken + 64))
    return { text: buffer.toString('latin1', 0, bytesRead), mode, uid }
  } catch (error) {
    throw bad(path, say`cannot be read: ${described(error)}`, error)
  }
}

function bad(path: string, what: Sayable, cause?: unknown): RegentError {
  return new RegentError('REGENT_BAD_FILE', say`token file ${path} ${what}`, { cause })
}
