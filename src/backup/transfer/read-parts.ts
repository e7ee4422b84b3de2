import type { PartEnd } from '#common/files/part-end.ts'
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
  /** The first parts, where those are at hand: they are not fetched. */
  readonly kept?: KeptParts | null
  /** Called before the first byte behind a part comes: all up to there is proven. */
  readonly ended?: (end: PartEnd) => void
}

interface KeptParts {
  readonly end: PartEnd
  readonly read: () => AsyncIterable<Buffer>
}

/** Chunks of the next part that are made ready while a part is read. */
const chunksAhead = 4

/**
 * The stream that `writeParts` was given. What was read is only to be used once all of it has come: throws, at the
 * latest at the end, where a byte in the store is another than was written, or is missing. What is kept is a part of
 * the stream, and of its sum: nothing is fetched before that is proven.
 */
export async function* readParts(manifest: Manifest, source: PartsSource): AsyncGenerator<Buffer, void, void> {
  const whole = new Tally()
  const { kept = null, ended = () => undefined } = source
  if (kept !== null) {
    yield* whole.watching(kept.read())
    requireKept(manifest, kept.end, whole)
    ended(kept.end)
  }
  const first = kept?.end.part ?? 0
  const parts = manifest.parts.slice(first).map(
    ({ rawBytes }, at) =>
      () =>
        readPart(manifest, { part: first + at + 1, rawBytes }, source),
  )
  yield* whole.watching(telling(oneAhead(parts, chunksAhead), { manifest, first, whole, ended }))
  if (whole.bytes !== manifest.rawBytes || whole.sum() !== manifest.sha256)
    throw new Error('the parts of the backup are not the stream that was stored: their sum is another')
}

interface Telling {
  readonly manifest: Manifest
  /** Parts before those that come. */
  readonly first: number
  readonly whole: Tally
  readonly ended: (end: PartEnd) => void
}

/** Tells of each part that ended before the next chunk. A chunk of a part comes when the part before was proven. */
async function* telling(
  chunks: AsyncIterable<Buffer>,
  { manifest, first, whole, ended }: Telling,
): AsyncGenerator<Buffer, void, void> {
  let [part, end] = [first, whole.bytes]
  const lengthOf = (at: number) => manifest.parts[at]?.rawBytes ?? Infinity
  for await (const chunk of chunks) {
    const { bytes } = whole
    const before = part
    if (chunk.length > 0) for (; end + lengthOf(part) <= bytes; part += 1) end += lengthOf(part)
    if (part > before) ended({ part, bytes, sha256: whole.sumSoFar() })
    yield chunk
  }
}

function requireKept({ parts }: Manifest, end: PartEnd, whole: Tally): void {
  const bytes = parts.slice(0, end.part).reduce((sum, { rawBytes }) => sum + rawBytes, 0)
  const isSame = end.part <= parts.length && bytes === end.bytes && bytes === whole.bytes
  if (!isSame || whole.sumSoFar() !== end.sha256)
    throw new Error('what was kept of the backup is not what had come: its sum is another')
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
