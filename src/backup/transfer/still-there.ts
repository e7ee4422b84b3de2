import { codeOf, RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'

/**
 * The content of an object that was there when a plan named the object. Retention does not wait for readers: a reader
 * whose object is gone is told so, and begins again with what is left.
 */
export async function* stillThere(
  content: AsyncIterable<Uint8Array>,
  what: Sentence,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* content
  } catch (error) {
    if (codeOf(error) !== 'REGENT_NOT_FOUND') throw error
    throw new RegentError(
      'REGENT_NOT_FOUND',
      say`${what} is not in the store any more: retention or a person deleted that, perhaps while the backup was read; what is left is to be read anew`,
      { remedy: '', cause: error },
    )
  }
}
