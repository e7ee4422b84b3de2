import { randomBytes } from 'node:crypto'
import { exactly, integer, matching, objectOf, type Shape, type Shaped } from '#common/input/shapes.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { pieceName, type Piece } from '../piece-name.ts'
import { formatVersion, readStored, unusable, writeStored } from '../stored-json.ts'
import { dataKeys, keyIdOf, saltBytes } from '../stream/data-key.ts'
import type { KeyRing } from '../stream/key-ring.ts'
import { decoded, encoded } from '../stream/part-codec.ts'
import { refusedPlain, refusesPlain } from '../plain.ts'

const encryptionShape = objectOf({
  scheme: exactly('aes-256-gcm'),
  keyId: matching('^[A-Za-z0-9._-]{1,64}$'),
  salt: matching('^[0-9a-f]{64}$'),
})
const encryption: Shape<Shaped<typeof encryptionShape> | null> = { anyOf: [{ type: 'null' }, encryptionShape] }
const head = objectOf({
  formatVersion: exactly(formatVersion),
  rawBytes: integer(1, Number.MAX_SAFE_INTEGER),
  encryption,
})

const lengthBytes = 4
const longestHeadBytes = 65_536

/** What a piece of the archive holds: the Format_description event of its file, then its transactions as they stand. */
export interface PieceContent {
  readonly rawBytes: number
  readonly content: AsyncIterable<Uint8Array>
}

/**
 * A piece as it is stored: the length of its head, the head, and one part as those of a backup. Each piece has a salt,
 * and so a key, of its own.
 */
export async function* pieceObject(
  { rawBytes, content }: PieceContent,
  key: KeyRing | null,
): AsyncGenerator<Uint8Array, void, void> {
  const salt = randomBytes(saltBytes)
  const encryption = key && { scheme: 'aes-256-gcm', keyId: keyIdOf(key.first), salt: salt.toString('hex') }
  const text = Buffer.from(writeStored({ formatVersion, rawBytes, encryption }))
  const length = Buffer.alloc(lengthBytes)
  length.writeUInt32BE(text.length)
  yield Buffer.concat([length, text])
  yield* encoded(content, { part: 1, key: key && dataKeys(key.first, salt).encrypts })
}

/** The reverse. Throws, at the latest at the end, where the object is no such piece, or the key is another. */
export async function* pieceContent(
  stored: AsyncIterable<Uint8Array>,
  piece: Piece,
  key: KeyRing | null,
): AsyncGenerator<Buffer, void, void> {
  const what = say`piece ${pieceName(piece)}`
  const source = stored[Symbol.asyncIterator]()
  try {
    const { head: text, behind } = await headOf(source, what)
    const { rawBytes, encryption } = readStored(text, head, what)
    const rest = continued(behind, source)
    yield* decoded(rest, { part: 1, rawBytes, key: openerOf(encryption, key, what) })
  } finally {
    await source.return?.()
  }
}

/** With which key a piece is encrypted, of the beginning of what is stored; null where it is plain. Throws as above. */
export async function keyIdOfPiece(stored: AsyncIterable<Uint8Array>, piece: Piece): Promise<string | null> {
  const what = say`piece ${pieceName(piece)}`
  const source = stored[Symbol.asyncIterator]()
  try {
    const { head: text } = await headOf(source, what)
    return readStored(text, head, what).encryption?.keyId ?? null
  } finally {
    await source.return?.()
  }
}

async function headOf(source: AsyncIterator<Uint8Array>, what: Parameters<typeof unusable>[0]) {
  let held = Buffer.alloc(0)
  const atLeast = async (bytes: number) => {
    while (held.length < bytes) {
      const next = await source.next()
      if (next.done === true) throw unusable(what, say`it ends within its head`)
      held = Buffer.concat([held, next.value])
    }
  }
  await atLeast(lengthBytes)
  const length = held.readUInt32BE()
  if (length > longestHeadBytes) throw unusable(what, say`it does not begin with a head`)
  await atLeast(lengthBytes + length)
  return { head: held.toString('utf8', lengthBytes, lengthBytes + length), behind: held.subarray(lengthBytes + length) }
}

async function* continued(
  first: Uint8Array,
  source: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  if (first.length > 0) yield first
  for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value
}

function openerOf(
  encryption: Shaped<typeof encryptionShape> | null,
  key: KeyRing | null,
  what: Parameters<typeof unusable>[0],
): Buffer | null {
  if (encryption === null) {
    if (refusesPlain(key)) throw refusedPlain(what)
    return null
  }
  const { keyId, salt } = encryption
  const opens = key?.withId(keyId)
  if (opens === undefined)
    throw new RegentError('REGENT_REFUSED', say`${what} is encrypted with key ${keyId}: give the file of that key`)
  return dataKeys(opens, Buffer.from(salt, 'hex')).encrypts
}
