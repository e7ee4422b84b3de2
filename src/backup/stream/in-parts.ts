/**
 * Cuts a stream into pieces of about `bytes`, one after the other. The next piece begins when the last piece was read
 * to its end. Whole chunks go into a piece, so that a piece may be longer by one chunk.
 */
export async function* inParts(
  content: AsyncIterable<Uint8Array>,
  bytes: number,
): AsyncGenerator<AsyncIterable<Uint8Array>, void, void> {
  const source = content[Symbol.asyncIterator]()
  let next = await source.next()
  async function* piece(): AsyncGenerator<Uint8Array, void, void> {
    for (let length = 0; next.done !== true && length < bytes; next = await source.next()) {
      length += next.value.length
      yield next.value
    }
  }
  try {
    while (next.done !== true) yield piece()
  } finally {
    await source.return?.()
  }
}
