import { Readable, type Writable } from 'node:stream'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import { sealed, unsealed, type SealedPart } from './encrypted-chunks.ts'

/** The place of a part, and its key. */
export interface PartOf {
  /** Counts from 1. */
  readonly part: number
  /** Null where nothing is encrypted. */
  readonly key: Buffer | null
}

const { ZSTD_c_compressionLevel: level, ZSTD_c_checksumFlag: checksum } = constants
/**
 * The size of zstd's chunks, and the number of chunks that may lie ready. Node gives 16 KiB by default, and asks a
 * thread of its pool for each: that took more of the processor than the decompression itself. In object mode nobody
 * joins chunks.
 */
const output = { chunkSize: 131_072, readableObjectMode: true, readableHighWaterMark: 4 }
/** Chunks of the source that are read ahead while zstd is at work. */
const chunksAhead = 2

/**
 * A part of a backup as stored: a single zstd frame, encrypted where there is a key. Node's decoder ignores what
 * follows the first frame, so a part has only one.
 */
export function encoded(content: AsyncIterable<Uint8Array>, of: PartOf): AsyncIterable<Uint8Array> {
  const frame = through(content, createZstdCompress({ ...output, params: { [level]: 1, [checksum]: 1 } }))
  return isEncrypted(of) ? sealed(frame, of) : frame
}

/**
 * The reverse. Throws for stored bytes that are no such part, and for a part that does not give `rawBytes`.
 * @param rawBytes the number of bytes that went in
 */
export async function* decoded(
  stored: AsyncIterable<Uint8Array>,
  of: PartOf & { readonly rawBytes: number },
): AsyncGenerator<Buffer, void, void> {
  const { part, rawBytes } = of
  const frame = isEncrypted(of) ? unsealed(stored, of) : stored
  let bytes = 0
  for await (const chunk of through(frame, createZstdDecompress(output))) {
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

/** The output of a transform. A failure of the source, or a reader who leaves, ends both. */
async function* through(
  source: AsyncIterable<Uint8Array>,
  transform: ReturnType<typeof createZstdCompress>,
): AsyncGenerator<Buffer, void, void> {
  const readable = Readable.from(source, { highWaterMark: chunksAhead })
  void feed(readable, transform).catch((error: unknown) => transform.destroy(error as Error))
  try {
    for await (const chunk of transform) yield chunk as Buffer
  } finally {
    readable.destroy()
    transform.destroy()
  }
}

/**
 * Ends the transform once its last chunk was taken. A transform that is told of its end while a chunk waits puts an
 * empty frame behind the frame (seen: Node 24.21). Nobody would notice then that the end is missing.
 */
async function feed(readable: Readable, transform: Writable): Promise<void> {
  for await (const chunk of readable)
    await new Promise<void>((resolve, reject) => {
      transform.write(chunk, (error) => (error ? reject(error) : resolve()))
    })
  transform.end()
}
