import { randomBytes } from 'node:crypto'

/** RFC 6455 §5.2, as far as a tunnel needs it: binary messages, pings, the end. */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export interface Message {
  readonly opcode: number
  readonly payload: Buffer
}

interface Frame extends Message {
  /** Of a message in several frames, the last. */
  readonly last: boolean
}

/** A kubelet sends 32 KiB at a time. */
const longestMessage = 16 * 1024 * 1024

/** One message as one frame. What a client sends is masked (§5.3), what it gets is not. */
export function frameOf(opcode: number, payload: Uint8Array, mask: Uint8Array | undefined = randomBytes(4)): Buffer {
  const { length } = payload
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const head = Buffer.alloc(2 + lengthBytes)
  head[0] = 0x80 | opcode
  head[1] = (mask === undefined ? 0 : 0x80) | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127)
  if (lengthBytes === 2) head.writeUInt16BE(length, 2)
  if (lengthBytes === 8) head.writeBigUInt64BE(BigInt(length), 2)
  return mask === undefined ? Buffer.concat([head, payload]) : Buffer.concat([head, mask, masked(payload, mask)])
}

/** Puts what a socket gives together to messages. Throws where the bytes are none. */
export class MessageReader {
  #unread: Buffer = Buffer.alloc(0)
  /** Of a message that goes on in the next frame. Pings may come between them. */
  #begun: Message | undefined

  push(chunk: Uint8Array): readonly Message[] {
    this.#unread = Buffer.concat([this.#unread, chunk])
    const messages: Message[] = []
    for (let frame = this.#take(); frame !== undefined; frame = this.#take()) messages.push(...this.#whole(frame))
    return messages
  }

  #whole({ opcode, last, payload }: Frame): readonly Message[] {
    const goesOn = opcode === opcodes.continuation
    if (goesOn && this.#begun === undefined) throw new Error('a WebSocket frame goes on with a message that never began')
    const message = goesOn && this.#begun !== undefined ? { opcode: this.#begun.opcode, payload: Buffer.concat([this.#begun.payload, payload]) } : { opcode, payload }
    refuseLong(message.payload.length)
    if (!last) this.#begun = message
    else if (goesOn) this.#begun = undefined
    return last ? [message] : []
  }

  #take(): Frame | undefined {
    const bytes = this.#unread
    const [first, second] = bytes
    if (first === undefined || second === undefined) return undefined
    if ((first & 0x70) !== 0) throw new Error('a WebSocket frame uses an extension that nobody asked for')
    const short = second & 0x7f
    const lengthBytes = short < 126 ? 0 : short === 126 ? 2 : 8
    const maskAt = 2 + lengthBytes
    const payloadAt = maskAt + ((second & 0x80) === 0 ? 0 : 4)
    if (bytes.length < payloadAt) return undefined
    const length = lengthBytes === 0 ? short : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
    refuseLong(length)
    if (bytes.length < payloadAt + length) return undefined
    this.#unread = bytes.subarray(payloadAt + length)
    const payload = bytes.subarray(payloadAt, payloadAt + length)
    return { opcode: first & 0x0f, last: (first & 0x80) !== 0, payload: payloadAt === maskAt ? payload : masked(payload, bytes.subarray(maskAt, payloadAt)) }
  }
}

function refuseLong(length: number): void {
  if (length > longestMessage) throw new Error(`a WebSocket message of ${length} bytes is larger than ${longestMessage}`)
}

function masked(payload: Uint8Array, mask: Uint8Array): Buffer {
  const result = Buffer.from(payload)
  for (let at = 0; at < result.length; at++) result[at] = (result[at] ?? 0) ^ (mask[at % 4] ?? 0)
  return result
}
