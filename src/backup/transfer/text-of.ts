import { say, text } from '#common/sentence/sentence.ts'
import type { Interruptible, ObjectStore } from '#object-store/object-store.ts'
import { longestCharacters as longestBytes, unusable } from '../objects/stored-json.ts'

/**
 * A small object as text. Rejects as the store does, and with `REGENT_BACKUP_UNUSABLE` for an object that is longer
 * than any manifest.
 */
export async function textOf(
  store: Pick<ObjectStore, 'get'>,
  key: string,
  options: Interruptible = {},
): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of store.get(key, undefined, options)) {
    bytes += chunk.length
    if (bytes > longestBytes) throw unusable(text(key), say`it has more than ${longestBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
