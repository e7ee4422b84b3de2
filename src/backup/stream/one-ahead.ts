import { Readable } from 'node:stream'

/**
 * What these give, one after the other. While one is read the next one begins, and makes `chunks` ready: a store takes
 * its time before the first byte. A failure shows where its turn comes, and ends the one that was begun too.
 */
export async function* oneAhead<T>(
  sources: readonly (() => AsyncIterable<T>)[],
  chunks: number,
): AsyncGenerator<T, void, void> {
  const begun: Readable[] = []
  const begin = (source: (() => AsyncIterable<T>) | undefined): void => {
    if (source === undefined) return
    const readable = Readable.from(source(), { highWaterMark: chunks })
    // Who reads it is told. Nobody may ever do so.
    readable.on('error', () => undefined)
    readable.read(0)
    begun.push(readable)
  }
  try {
    begin(sources[0])
    for (const [at] of sources.entries()) {
      begin(sources[at + 1])
      yield* begun[at] as AsyncIterable<T>
    }
  } finally {
    for (const each of begun) each.destroy()
  }
}
