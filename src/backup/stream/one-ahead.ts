import { Readable } from 'node:stream'

/**
 * Gives the content of these sources, one after the other. While a source is read the next source begins, and makes
 * `chunks` ready: a store takes its time before the first byte. A failure shows where the turn of its source comes, and
 * ends the other source that was begun.
 */
export async function* oneAhead<T>(
  sources: readonly (() => AsyncIterable<T>)[],
  chunks: number,
): AsyncGenerator<T, void, void> {
  const begun: Readable[] = []
  const begin = (source: (() => AsyncIterable<T>) | undefined): void => {
    if (source === undefined) return
    const readable = Readable.from(source(), { highWaterMark: chunks })
    // The reader is told of the error. Perhaps nobody ever reads, and an error without a listener would end the
    // process.
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
