/** Gives the same bytes in chunks of exactly this size; the last chunk may be shorter. */
export async function* sized(content: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Buffer, void, void> {
  let held: Uint8Array[] = []
  let length = 0
  for await (const chunk of content) {
    held.push(chunk)
    length += chunk.length
    if (length < bytes) continue
    let whole = Buffer.concat(held)
    for (; whole.length >= bytes; whole = whole.subarray(bytes)) yield whole.subarray(0, bytes)
    held = whole.length > 0 ? [whole] : []
    length = whole.length
  }
  if (length > 0) yield Buffer.concat(held)
}
