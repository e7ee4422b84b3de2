/** What the content of a put threw: its trouble, not that of the store. */
export class SourceFailure extends Error {}

/** The content, with its failures marked. */
export async function* marked(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content
  } catch (cause) {
    throw new SourceFailure('the content failed', { cause })
  }
}
