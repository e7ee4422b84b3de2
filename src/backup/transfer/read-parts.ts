import { say } from '#common/sentence/sentence.ts'
import type { ObjectStore } from '#object-store/object-store.ts'
import { oneAhead } from '../stream/one-ahead.ts'
import { decoded } from '../stream/part-codec.ts'
import { Tally } from '../stream/tally.ts'
import { stillThere } from './still-there.ts'
import { checkPart, type Manifest } from '../objects/manifest.ts'

export interface PartsSource {
  readonly store: Pick<ObjectStore, 'get'>
  readonly keyOf: (part: number) => string
  readonly key: Buffer | null
  readonly signal: AbortSignal
}

/** Chunks of the next part that are made ready while a part is read. */
const chunksAhead = 4

/**
 * The stream that `writeParts` was given. What was read is only to be used once all of it has come: throws, at the
 * latest at the end, where a byte in the store is another than was written, or is missing.
 */
export async function* readParts(manifest: Manifest, source: PartsSource): AsyncGenerator<Buffer, void, void> {
  const whole = new Tally()
  const parts = manifest.parts.map(
    ({ rawBytes }, at) =>
      () =>
        readPart(manifest, { part: at + 1, rawBytes }, source),
  )
  yield* whole.watching(oneAhead(parts, chunksAhead))
  if (whole.bytes !== manifest.rawBytes || whole.sum() !== manifest.sha256)
    throw new Error('the parts of the backup are not the stream that was stored: their sum is another')
}

async function* readPart(
  manifest: Manifest,
  { part, rawBytes }: { readonly part: number; readonly rawBytes: number },
  { store, keyOf, key, signal }: PartsSource,
): AsyncGenerator<Buffer, void, void> {
  signal.throwIfAborted()
  const stored = new Tally()
  const what = say`part ${part} of backup ${manifest.name}`
  const content = stored.watching(stillThere(store.get(keyOf(part), undefined, { signal }), what))
  yield* decoded(content, { part, key, rawBytes })
  checkPart(manifest, part, { bytes: stored.bytes, sha256: stored.sum() })
}
