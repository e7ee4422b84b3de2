import type { ObjectStore } from '#object-store/object-store.ts'
import { partName } from '../objects/object-key.ts'
import type { Manifest } from '../objects/manifest.ts'
import { encoded } from '../stream/part-codec.ts'
import { inParts } from '../stream/in-parts.ts'
import { Tally } from '../stream/tally.ts'

/** The stream, and the objects that hold the stream, as the manifest tells of them. */
export type WrittenParts = Pick<Manifest, 'parts' | 'rawBytes' | 'storedBytes' | 'sha256'>

export interface PartsTarget {
  readonly store: Pick<ObjectStore, 'put'>
  readonly keyOf: (part: number) => string
  /** Null where nothing is encrypted. */
  readonly key: Buffer | null
  readonly signal: AbortSignal
  /** Bytes of the stream in one part; `usualPartBytes` unless given. */
  readonly partBytes?: number
  /** Called after each part. */
  readonly progress: (written: { readonly rawBytes: number; readonly storedBytes: number }) => void
}

/** Bytes of the stream in one object: a restore fetches so much anew where a connection breaks off. */
const usualPartBytes = 67_108_864

/**
 * Cuts, compresses and encrypts a stream, and stores it in parts. The next part is sent while the store makes a part
 * durable. Nobody takes the parts for a backup before a manifest names them. Rejects as the stream or the store does,
 * or with the signal's reason. A part that fails ends the other part, and then nothing is written any more.
 */
export async function writeParts(content: AsyncIterable<Uint8Array>, target: PartsTarget): Promise<WrittenParts> {
  const { partBytes = usualPartBytes } = target
  const [whole, failed] = [new Tally(), new AbortController()]
  const signal = AbortSignal.any([target.signal, failed.signal])
  const parts: WrittenPart[] = []
  let [rawBytes, storedBytes] = [0, 0]
  const stored = (part: WrittenPart): void => {
    parts.push(part)
    rawBytes += part.rawBytes
    storedBytes += part.bytes
    target.progress({ rawBytes, storedBytes })
  }
  // The number of parts begun, and the end of all of them.
  let [begun, all] = [0, Promise.resolve()]
  try {
    for await (const piece of inParts(whole.watching(content), partBytes)) {
      signal.throwIfAborted()
      const before = all
      const taken = Promise.withResolvers<undefined>()
      const written = writePart({ piece, part: (begun += 1), taken: taken.resolve }, { ...target, partBytes, signal })
      written.catch((error: unknown) => failed.abort(error))
      all = Promise.allSettled([before, written]).then(async () => stored(await written))
      all.catch(() => undefined)
      await Promise.race([taken.promise, written])
      await before
    }
    await all
  } catch (error) {
    failed.abort(error)
    await all.catch(() => undefined)
    throw failed.signal.reason
  }
  return { parts, rawBytes, storedBytes, sha256: whole.sum() }
}

/** A part as the manifest tells of it. */
type WrittenPart = Manifest['parts'][number]

interface Piece {
  readonly piece: AsyncIterable<Uint8Array>
  readonly part: number
  /** Called when nothing of the piece is left to be read. */
  readonly taken: (nothing: undefined) => void
}

async function writePart(
  { piece, part, taken }: Piece,
  { store, keyOf, key, signal, partBytes: expectedBytes }: PartsTarget,
): Promise<WrittenPart> {
  const stored = new Tally()
  let rawBytes = 0
  async function* counted(): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of piece) {
      rawBytes += chunk.length
      yield chunk
    }
    taken(undefined)
  }
  const sent = stored.watching(encoded(counted(), { part, key }))
  const bytes = await store.put(keyOf(part), sent, { signal, expectedBytes })
  if (bytes !== stored.bytes)
    throw new Error(`part ${part} of the backup has ${stored.bytes} bytes, and the store took ${bytes}`)
  return { name: partName(part), rawBytes, bytes, sha256: stored.sum() }
}
