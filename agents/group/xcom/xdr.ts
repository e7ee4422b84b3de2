import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { Synode } from './messages.ts'

/** Writes XDR (RFC 4506): big-endian numbers of four or eight bytes; text and blobs padded to a multiple of four. */
export class XdrWriter {
  readonly #parts: Buffer[] = []

  u32(...values: readonly number[]): this {
    const part = Buffer.alloc(4 * values.length)
    values.forEach((value, index) => part.writeUInt32BE(value, 4 * index))
    this.#parts.push(part)
    return this
  }

  u64(value: bigint): this {
    const part = Buffer.alloc(8)
    part.writeBigUInt64BE(value)
    this.#parts.push(part)
    return this
  }

  bytes(value: Uint8Array): this {
    this.u32(value.length)
    this.#parts.push(Buffer.from(value), Buffer.alloc(padding(value.length)))
    return this
  }

  synode({ group, message, node }: Synode): this {
    return this.u32(group).u64(message).u32(node)
  }

  done(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

/**
 * Reads XDR. Whatever the bytes are, it reads none that are not there and takes no more memory than a small multiple of
 * the message: a count is compared with the bytes left before anything is made for it. Throws `REGENT_GROUP_PROTOCOL`.
 */
export class XdrReader {
  readonly #message: Buffer
  #at = 0

  constructor(message: Buffer) {
    this.#message = message
  }

  u32(what: string): number {
    const at = this.#take(4, what)
    return this.#message.readUInt32BE(at)
  }

  u64(what: string): bigint {
    const at = this.#take(8, what)
    return this.#message.readBigUInt64BE(at)
  }

  /** A copy. */
  bytes(what: string, most: number): Buffer {
    const length = this.u32(`the length of ${what}`)
    if (length > most) throw this.complaint(say`${what} has ${length} bytes, and at most ${most} are allowed`)
    const at = this.#take(length + padding(length), what)
    return Buffer.from(this.#message.subarray(at, at + length))
  }

  synode(what: string): Synode {
    return { group: this.u32(what), message: this.u64(what), node: this.u32(what) }
  }

  flag(what: string): boolean {
    const value = this.u32(what)
    if (value > 1) throw this.complaint(say`${what} is ${value}, neither yes nor no`)
    return value === 1
  }

  /** @param leastBytes of each element: so many must be left for each that the count announces */
  list<Element>(what: string, leastBytes: number, read: () => Element): Element[] {
    const count = this.u32(`the count of ${what}`)
    const left = this.#message.length - this.#at
    if (count * leastBytes > left) throw this.complaint(say`${count} ${what} are announced, and ${left} bytes are left`)
    return Array.from({ length: count }, read)
  }

  /** A pointer to what this client does not read. */
  absent(what: string): void {
    if (this.flag(`the pointer to ${what}`)) throw this.complaint(say`it has ${what}, which this client does not read`)
  }

  skip(bytes: number, what: string): void {
    this.#take(bytes, what)
  }

  /** Nothing may be left. */
  end(): void {
    const left = this.#message.length - this.#at
    if (left > 0) throw this.complaint(say`${left} bytes follow after its end`)
  }

  complaint(why: Sentence): RegentError {
    return new RegentError(
      'REGENT_GROUP_PROTOCOL',
      say`a message of XCom with ${this.#message.length} bytes cannot be read at byte ${this.#at}: ${why}`,
    )
  }

  #take(bytes: number, what: string): number {
    const at = this.#at
    const left = this.#message.length - at
    if (bytes > left) throw this.complaint(say`${what} needs ${bytes} bytes, and ${left} are left`)
    this.#at += bytes
    return at
  }
}

function padding(length: number): number {
  return (4 - (length % 4)) % 4
}
