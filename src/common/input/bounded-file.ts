import { open } from 'node:fs/promises'

const chunkBytes = 65_536

/**
 * The content of a file or of a pipe (`<(…)`), of which nothing is known before its end: a device such as /dev/full has
 * none. Throws an error without the path, which the caller names: the system's own say it only where the file cannot be
 * opened.
 */
export async function readBounded(path: string, limitBytes: number): Promise<Buffer> {
  await using file = await open(path, 'r')
  if ((await file.stat()).isDirectory()) throw new Error('it is a folder, not a file')
  const chunks: Buffer[] = []
  let length = 0
  for (;;) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes)
    if (bytesRead === 0) return Buffer.concat(chunks, length)
    chunks.push(buffer.subarray(0, bytesRead))
    length += bytesRead
    if (length > limitBytes) throw new Error(`it is larger than ${limitBytes} bytes`)
  }
}
