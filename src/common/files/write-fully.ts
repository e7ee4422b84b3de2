import type { FileHandle } from 'node:fs/promises'

/**
 * All of it, at that place. A disk that fills up takes a part of a write, and says so by the number of bytes alone; the
 * next write fails.
 */
export async function writeFully(file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  let written = 0
  while (written < bytes.length)
    written += (await file.write(bytes, written, bytes.length - written, offset + written)).bytesWritten
}
