import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import { mostReplyBytes, mostSnapshotBytes } from './decode.ts'
import { frameTypes, headerBytes, leastBodyBytes, operationAt, operations, protocolVersion } from './messages.ts'

export type Frame =
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'message'; readonly operation: number; readonly body: Buffer }

/** What is being collected; `of` bytes of it, `have` of which are there. */
interface Part {
  readonly name: 'header' | 'head' | 'body'
  readonly bytes: Buffer
  have: number
}

/**
 * Cuts a stream into messages. Only answers that this client asks for are kept, each up to its own limit; the bodies of
 * all others are let go by as they come. A snapshot is followed by every message that the member still has in its
 * cache, a gigabyte of them perhaps.
 */
export class FrameReader {
  #part: Part = fresh('header', headerBytes)
  #length = 0
  #toSkip = 0
  #skipped = 0

  /** Bytes of messages that nobody asked for. */
  get skipped(): number {
    return this.#skipped
  }

  /** The messages that are whole with this chunk. Throws `REGENT_GROUP_PROTOCOL`, and is of no more use then. */
  push(chunk: Buffer): readonly Frame[] {
    const frames: Frame[] = []
    let at = 0
    while (at < chunk.length) {
      at += this.#skip(chunk.length - at)
      at += this.#fill(chunk.subarray(at))
      if (this.#toSkip === 0 && this.#part.have === this.#part.bytes.length) frames.push(...this.#whole())
    }
    return frames
  }

  #skip(available: number): number {
    const bytes = Math.min(this.#toSkip, available)
    this.#toSkip -= bytes
    this.#skipped += bytes
    return bytes
  }

  #fill(rest: Buffer): number {
    const { bytes, have } = this.#part
    const copied = rest.copy(bytes, have)
    this.#part.have += copied
    return copied
  }

  #whole(): readonly Frame[] {
    const { name, bytes } = this.#part
    if (name === 'header') return this.#header(bytes)
    if (name === 'head') return this.#head(bytes)
    return this.#message(bytes)
  }

  #header(header: Buffer): readonly Frame[] {
    const version = header.readUInt32BE(0)
    const type = header.readUInt8(8)
    this.#length = header.readUInt32BE(4)
    if (type === frameTypes.versionReply && this.#length === 0) {
      this.#part = fresh('header', headerBytes)
      return [{ kind: 'version', version }]
    }
    if (type !== frameTypes.message) throw complaint(say`a header says type ${type} and ${this.#length} bytes`)
    if (version !== protocolVersion) throw complaint(say`a message is of version ${version}, not ${protocolVersion}`)
    if (this.#length < leastBodyBytes) throw complaint(say`a message announces ${this.#length} bytes`)
    this.#part = fresh('head', leastBodyBytes)
    return []
  }

  /** So much of a body that its operation can be read, and what becomes of the rest. */
  #head(head: Buffer): readonly Frame[] {
    const operation = head.readUInt32BE(operationAt)
    const most = mostBytesOf(operation)
    if (most === undefined) {
      this.#toSkip = this.#length - head.length
      this.#skipped += headerBytes + head.length
      this.#part = fresh('header', headerBytes)
      return []
    }
    if (this.#length > most)
      throw complaint(
        say`an answer of operation ${operation} announces ${this.#length} bytes, at most ${most} are allowed`,
      )
    this.#part = fresh('body', this.#length)
    head.copy(this.#part.bytes)
    this.#part.have = head.length
    return this.#length === head.length ? this.#message(this.#part.bytes) : []
  }

  #message(body: Buffer): readonly Frame[] {
    this.#part = fresh('header', headerBytes)
    return [{ kind: 'message', operation: body.readUInt32BE(operationAt), body }]
  }
}

/** Undefined for what nobody asked for. */
function mostBytesOf(operation: number): number | undefined {
  if (operation === operations.clientReply) return mostReplyBytes
  return operation === operations.snapshot ? mostSnapshotBytes : undefined
}

function fresh(name: Part['name'], bytes: number): Part {
  return { name, bytes: Buffer.alloc(bytes), have: 0 }
}

function complaint(why: Sayable): RegentError {
  return new RegentError('REGENT_GROUP_PROTOCOL', say`what a member sent is no stream of XCom: ${why}`)
}
