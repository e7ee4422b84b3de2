/** A file as far as it is written to. */
export interface WrittenTo {
  write(
    bytes: Uint8Array,
    at: number,
    length: number,
    offset?: number | null,
  ): Promise<{ readonly bytesWritten: number }>
}

/**
 * All of it, at that place; without one, where the file is. A disk that fills up takes a part of a write, and says so
 * by the number of bytes alone; the next write fails.
 */
export async function writeFully(file: WrittenTo, bytes: Uint8Array, offset: number | null = null): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const place = offset === null ? null : offset + at
    at += (await file.write(bytes, at, bytes.length - at, place)).bytesWritten
  }
}
