import type { Interruptible, ObjectStore } from '#object-store/object-store.ts'

const longestBytes = 67_108_864

/** A small object as text. Rejects as the store does, and where the object is none of a manifest's size. */
export async function textOf(
  store: Pick<ObjectStore, 'get'>,
  key: string,
  options: Interruptible = {},
): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of store.get(key, undefined, options)) {
    bytes += chunk.length
    if (bytes > longestBytes) throw new Error(`${key} has more than ${longestBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
