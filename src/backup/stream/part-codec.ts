import { Readable } from 'node:stream'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import { sealed, unsealed, type SealedPart } from './sealing.ts'

/** What a part needs to be known by. */
export interface PartOf {
  /** Counts from 1. */
  readonly part: number
  /** Null where nothing is encrypted. */
  readonly key: Buffer | null
}

const { ZSTD_c_compressionLevel: level, ZSTD_c_checksumFlag: checksum } = constants

/**
 * One part of a backup as it is stored: a single zstd frame, encrypted where there is a key. One frame, since Node's
 * decoder ignores what follows the first.
 */
export function encoded(content: AsyncIterable<Uint8Array>, of: PartOf): AsyncIterable<Uint8Array> {
  const frame = through(content, createZstdCompress({ params: { [level]: 1, [checksum]: 1 } }))
  return isEncrypted(of) ? sealed(frame, of) : frame
}

/**
 * The reverse. Throws where the stored bytes are no such part, and where other than `rawBytes` come out.
 * @param rawBytes what went in
 */
export async function* decoded(
  stored: AsyncIterable<Uint8Array>,
  of: PartOf & { readonly rawBytes: number },
): AsyncGenerator<Buffer, void, void> {
  const { part, rawBytes } = of
  const frame = isEncrypted(of) ? unsealed(stored, of) : stored
  let bytes = 0
  for await (const chunk of through(frame, createZstdDecompress())) {
    bytes += chunk.length
    if (bytes > rawBytes) break
    yield chunk
  }
  if (bytes !== rawBytes)
    throw new Error(
      `part ${part} holds ${bytes > rawBytes ? 'more than' : `${bytes} of`} the ${rawBytes} bytes that were stored`,
    )
}

function isEncrypted(of: PartOf): of is SealedPart {
  return of.key !== null
}

/** What comes out of a transform. A failure of the source, or a reader who leaves, ends both. */
async function* through(
  source: AsyncIterable<Uint8Array>,
  transform: ReturnType<typeof createZstdCompress>,
): AsyncGenerator<Buffer, void, void> {
  const readable = Readable.from(source, { objectMode: false, highWaterMark: 1_048_576 })
  readable.on('error', (error) => transform.destroy(error))
  try {
    for await (const chunk of readable.pipe(transform)) yield chunk as Buffer
  } finally {
    readable.destroy()
    transform.destroy()
  }
}
