/** A stream that comes in parts, up to the end of one of them. */
export interface PartEnd {
  /** Counts from 1. */
  readonly part: number
  /** From the beginning of the stream. */
  readonly bytes: number
  /** SHA-256 of these bytes, in hexadecimal digits. */
  readonly sha256: string
}
