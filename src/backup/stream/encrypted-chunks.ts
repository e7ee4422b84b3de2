import { createCipheriv, createDecipheriv, type DecipherGCM } from 'node:crypto'
import { sized } from './sized.ts'

/** A part of a backup that is sealed: chunks of another part do not open. */
export interface SealedPart {
  readonly key: Buffer
  /** Counts from 1. */
  readonly part: number
}

const cipher = 'aes-256-gcm'
const chunkBytes = 1_048_576
const tagBytes = 16

/**
 * Encrypts in chunks of 1 MiB, each with its own tag. The nonce holds the part, the chunk, and whether the chunk is the
 * last of its part. So chunks that are changed, left out, put elsewhere, or cut off at the end do not open (the STREAM
 * construction of Hoang, Reyhanitabar, Rogaway and Vizár, 2015). A key belongs to one backup, so that no nonce is used
 * twice.
 */
export async function* sealed(content: AsyncIterable<Uint8Array>, of: SealedPart): AsyncGenerator<Buffer, void, void> {
  let chunk = 0
  for await (const { bytes, isLast } of withLast(sized(content, chunkBytes))) {
    const seal = createCipheriv(cipher, of.key, nonceOf(of.part, chunk, isLast))
    yield seal.update(bytes)
    seal.final()
    yield seal.getAuthTag()
    chunk += 1
  }
}

/** The reverse. Throws for a chunk that was not sealed so, before a byte of that chunk is given. */
export async function* unsealed(
  content: AsyncIterable<Uint8Array>,
  of: SealedPart,
): AsyncGenerator<Buffer, void, void> {
  let chunk = 0
  for await (const { bytes, isLast } of withLast(sized(content, chunkBytes + tagBytes))) {
    yield opened(bytes, createDecipheriv(cipher, of.key, nonceOf(of.part, chunk, isLast)), of.part)
    chunk += 1
  }
}

function opened(bytes: Buffer, open: DecipherGCM, part: number): Buffer {
  try {
    const end = bytes.length - tagBytes
    if (end < 0) throw new Error('shorter than its tag')
    open.setAuthTag(bytes.subarray(end))
    const bytesOpened = open.update(bytes.subarray(0, end))
    // Throws where the tag does not fit. A cipher of this kind has no bytes left at the end.
    open.final()
    return bytesOpened
  } catch (error) {
    throw changed(part, error)
  }
}

function changed(part: number, cause?: unknown): Error {
  return new Error(`part ${part} is not what was stored: bytes were changed or are missing, or the key is another`, {
    cause,
  })
}

function nonceOf(part: number, chunk: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt32BE(part, 0)
  nonce.writeUInt32BE(chunk, 4)
  nonce.writeUInt8(isLast ? 1 : 0, 8)
  return nonce
}

/** Tells of each chunk whether another chunk follows. Content without a byte has one empty chunk. */
async function* withLast(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<{ readonly bytes: Buffer; readonly isLast: boolean }, void, void> {
  let before: Buffer | undefined
  for await (const bytes of chunks) {
    if (before !== undefined) yield { bytes: before, isLast: false }
    before = bytes
  }
  yield { bytes: before ?? Buffer.alloc(0), isLast: true }
}
