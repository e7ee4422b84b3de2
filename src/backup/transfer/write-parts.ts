import type { ObjectStore } from '#object-store/object-store.ts'
import { partName } from '../keys.ts'
import type { Manifest } from '../manifest.ts'
import { encoded } from '../stream/part-codec.ts'
import { inParts } from '../stream/parts.ts'
import { Tally } from '../stream/tally.ts'

/** What a manifest says of the stream, and of the objects that hold the stream. */
export type WrittenParts = Pick<Manifest, 'parts' | 'rawBytes' | 'storedBytes' | 'sha256'>

export interface PartsTarget {
  readonly store: Pick<ObjectStore, 'put'>
  readonly keyOf: (part: number) => string
  /** Null where nothing is encrypted. */
  readonly key: Buffer | null
  readonly signal: AbortSignal
  /** After each part. */
  readonly progress: (written: { readonly rawBytes: number; readonly storedBytes: number }) => void
}

/** So much of the stream goes into one object: what a restore fetches anew where a connection breaks off. */
export const partBytes = 67_108_864

/**
 * Cuts, compresses and encrypts a stream, and stores the parts one after the other. Nobody takes them for a backup
 * before a manifest names them. Rejects as the stream or the store does, or with the signal's reason.
 */
export async function writeParts(content: AsyncIterable<Uint8Array>, target: PartsTarget): Promise<WrittenParts> {
  const { store, keyOf, key, signal, progress } = target
  const [whole, parts] = [new Tally(), [] as Manifest['parts'][number][]]
  let storedBytes = 0
  for await (const piece of inParts(whole.watching(content), partBytes)) {
    signal.throwIfAborted()
    const [raw, stored] = [new Tally(), new Tally()]
    const part = parts.length + 1
    const sent = stored.watching(encoded(raw.watching(piece), { part, key }))
    const bytes = await store.put(keyOf(part), sent, { signal, expectedBytes: partBytes })
    if (bytes !== stored.bytes)
      throw new Error(`part ${part} of the backup has ${stored.bytes} bytes, and the store took ${bytes}`)
    parts.push({ name: partName(part), rawBytes: raw.bytes, bytes, sha256: stored.sum() })
    storedBytes += bytes
    progress({ rawBytes: whole.bytes, storedBytes })
  }
  return { parts, rawBytes: whole.bytes, storedBytes, sha256: whole.sum() }
}
