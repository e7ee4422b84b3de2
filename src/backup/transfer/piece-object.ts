import { randomBytes } from 'node:crypto'
import { exactly, integer, matching, objectOf, oneOf, optional, type Shape, type Shaped } from '#common/input/shapes.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { keyOf } from '../objects/object-key.ts'
import type { Manifest } from '../objects/manifest.ts'
import { pieceName, type Piece } from '../objects/piece-name.ts'
import { formatVersion, readStored, signedVersion, unusable, writeStored } from '../objects/stored-json.ts'
import { dataKeys, isSignedBy, keyIdOf, saltBytes, signatureOf, type DataKeys } from '../keys/data-key.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { decoded, encoded } from '../stream/part-codec.ts'
import { refusedPlain, refusesPlain, whyNotPlain, whyNotSigned } from '../keys/plain.ts'

const encryptionShape = objectOf({
  scheme: exactly('aes-256-gcm'),
  keyId: matching('^[A-Za-z0-9._-]{1,64}$'),
  salt: matching('^[0-9a-f]{64}$'),
})
const encryption: Shape<Shaped<typeof encryptionShape> | null> = { anyOf: [{ type: 'null' }, encryptionShape] }
const headShape = objectOf({
  /** Encrypted pieces have the second version: their names are signed. */
  formatVersion: oneOf(formatVersion, signedVersion),
  rawBytes: integer(1, Number.MAX_SAFE_INTEGER),
  encryption,
  /** The seal of the place where the piece was put. Absent without a key, and in pieces of older Regents. */
  seal: optional(objectOf({ lineage: matching('^[0-9a-f-]{8,64}$'), signature: matching('^[0-9a-f]{64}$') })),
})
type Head = Shaped<typeof headShape>

const lengthBytes = 4
const longestHeadBytes = 65_536

/** The content of a piece: the Format_description event of its file, and then its transactions as they stand. */
export interface PieceContent {
  readonly rawBytes: number
  readonly content: AsyncIterable<Uint8Array>
}

/** The place of a piece, and its cluster: as its sender says, or as its reader knows. */
export interface PiecePlace {
  /** Folder of the cluster in the store. */
  readonly cluster: string
  /** Null for a reader of any cluster's pieces. */
  readonly lineage: Manifest['lineage'] | null
  readonly piece: Piece
}

/**
 * A piece as stored: the length of its head, the head, and one part as a backup has. Each piece has a salt, and so a
 * key, of its own. With a key the head signs the name: only the name gives a piece its place in the history.
 */
export async function* pieceObject(
  { rawBytes, content }: PieceContent,
  at: PiecePlace & { readonly lineage: Manifest['lineage'] },
  key: KeyRing | null,
): AsyncGenerator<Uint8Array, void, void> {
  const salt = randomBytes(saltBytes)
  const keys = key && dataKeys(key.first, salt, 'piece')
  const text = Buffer.from(
    writeStored(
      key === null || keys === null
        ? { formatVersion, rawBytes, encryption: null }
        : {
            formatVersion: signedVersion,
            rawBytes,
            encryption: { scheme: 'aes-256-gcm', keyId: keyIdOf(key.first), salt: salt.toString('hex') },
            seal: { lineage: at.lineage, signature: signatureOf(signedText(at, at.lineage, rawBytes), keys) },
          },
    ),
  )
  const length = Buffer.alloc(lengthBytes)
  length.writeUInt32BE(text.length)
  yield Buffer.concat([length, text])
  yield* encoded(content, { part: 1, key: keys?.encrypts ?? null })
}

function signedText({ cluster, piece }: PiecePlace, lineage: Manifest['lineage'], rawBytes: number): string {
  return JSON.stringify(['piece', lineage, keyOf({ kind: 'piece', cluster, piece }), rawBytes])
}

/** The reverse. Throws, at the latest at the end, where the object is no such piece, or the key is another. */
export async function* pieceContent(
  stored: AsyncIterable<Uint8Array>,
  at: PiecePlace,
  key: KeyRing | null,
): AsyncGenerator<Buffer, void, void> {
  const source = stored[Symbol.asyncIterator]()
  try {
    const { head, behind } = await headOf(source, at)
    const rest = continued(behind, source)
    yield* decoded(rest, { part: 1, rawBytes: head.rawBytes, key: openerOf(head, at, key) })
  } finally {
    await source.return?.()
  }
}

/**
 * Looks at the beginning of a stored piece. Throws as above for a piece that is not to be taken, unless only its key
 * lacks. @returns the id of the lacking key, null for none; and the number of bytes of the piece once decoded
 */
export async function lookAtHead(
  stored: AsyncIterable<Uint8Array>,
  at: PiecePlace,
  key: KeyRing | null,
): Promise<{ readonly lacks: string | null; readonly rawBytes: number }> {
  const source = stored[Symbol.asyncIterator]()
  try {
    const { head } = await headOf(source, at)
    const { rawBytes } = head
    const id = head.encryption?.keyId ?? null
    if (id !== null && key?.withId(id) === undefined) return { lacks: id, rawBytes }
    openerOf(head, at, key)
    return { lacks: null, rawBytes }
  } finally {
    await source.return?.()
  }
}

/**
 * Why nothing proves the name of a piece to a holder of these keys; '' otherwise. Throws as above for a piece without a
 * head.
 */
export async function whyUnproven(
  stored: AsyncIterable<Uint8Array>,
  at: PiecePlace,
  key: KeyRing | null,
): Promise<Said> {
  const source = stored[Symbol.asyncIterator]()
  try {
    const { head } = await headOf(source, at)
    if (!refusesPlain(key)) return ''
    if (head.encryption === null) return whyNotPlain(named(at))
    return head.seal === undefined ? whyNotSigned(say`the name of ${named(at)}`) : ''
  } finally {
    await source.return?.()
  }
}

async function headOf(
  source: AsyncIterator<Uint8Array>,
  at: PiecePlace,
): Promise<{ readonly head: Head; readonly behind: Uint8Array }> {
  const what = named(at)
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
  const text = held.toString('utf8', lengthBytes, lengthBytes + length)
  return { head: readStored(text, headShape, what, signedVersion), behind: held.subarray(lengthBytes + length) }
}

async function* continued(
  first: Uint8Array,
  source: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  if (first.length > 0) yield first
  for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value
}

/**
 * Null for a plain piece. Throws for a plain piece where none is taken, and for a piece that its name does not
 * describe.
 */
function openerOf({ encryption, seal, rawBytes }: Head, at: PiecePlace, key: KeyRing | null): Buffer | null {
  const what = named(at)
  if (encryption === null) {
    if (refusesPlain(key)) throw refusedPlain(what)
    return null
  }
  const { keyId, salt } = encryption
  const opens = key?.withId(keyId)
  if (opens === undefined)
    throw new RegentError('REGENT_REFUSED', say`${what} is encrypted with key ${keyId}: give the file of that key`)
  const saltOf = Buffer.from(salt, 'hex')
  if (seal === undefined) {
    if (refusesPlain(key))
      throw new RegentError('REGENT_REFUSED', whyNotSigned(say`the name of ${what}`), { remedy: '' })
    return dataKeys(opens, saltOf).encrypts
  }
  const keys = dataKeys(opens, saltOf, 'piece')
  requireName({ ...seal, rawBytes }, at, keys)
  return keys.encrypts
}

function requireName(
  { lineage, signature, rawBytes }: NonNullable<Head['seal']> & Pick<Head, 'rawBytes'>,
  at: PiecePlace,
  keys: DataKeys,
): void {
  if (!isSignedBy(signature, signedText(at, lineage, rawBytes), keys))
    throw unusable(named(at), say`it was stored under another name, or was changed after that`)
  if (at.lineage !== null && at.lineage !== lineage)
    throw unusable(named(at), say`it is of another cluster of that name (lineage ${lineage})`)
}

function named({ piece }: PiecePlace): Sentence {
  return say`piece ${pieceName(piece)}`
}
