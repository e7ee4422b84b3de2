import { createServer, type Server, type Socket } from 'node:net'

const packetHeaderBytes = 4

/** A MySQL server as far as its login: anybody is let in, and any command is answered as a test says. */
export class PlayedLogin {
  /** What clients sent after they were let in. */
  readonly commands: Buffer[] = []
  /** The packet that answers a command, without its header. */
  answer: (command: Buffer) => Buffer = () => okPacket
  /** From then on the connection is the test's. */
  afterwards: (socket: Socket) => void = () => undefined
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => this.#serve(socket))
  }

  static async start(): Promise<PlayedLogin> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new PlayedLogin(server)
  }

  get address(): string {
    const at = this.#server.address()
    return typeof at === 'object' && at !== null ? `127.0.0.1:${at.port}` : ''
  }

  get open(): number {
    return this.#sockets.size
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#sockets.delete(socket))
    socket.write(packet(0, greeting))
    let isIn = false
    const hear = (chunk: Buffer) => {
      if (!isIn) {
        isIn = true
        socket.write(packet(2, okPacket))
        return
      }
      socket.off('data', hear)
      const command = chunk.subarray(packetHeaderBytes)
      this.commands.push(command)
      socket.write(packet(1, this.answer(command)))
      this.afterwards(socket)
    }
    socket.on('data', hear)
  }
}

export const okPacket = Buffer.from([0, 0, 0, 2, 0, 0, 0])

export function errorPacket(code: number, words: string): Buffer {
  return Buffer.concat([Buffer.from([0xff, code & 0xff, code >> 8]), Buffer.from(`#HY000${words}`)])
}

/** `Protocol::HandshakeV10`, of a server without TLS whose accounts have `mysql_native_password`. */
const greeting = Buffer.concat([
  Buffer.from('\x0a9.7.4\0', 'latin1'),
  Buffer.from([7, 0, 0, 0]),
  Buffer.from('12345678\0', 'latin1'),
  // Capabilities: 4.1 protocol, secure connection, named ways to authenticate.
  Buffer.from([0x00, 0x82, 0xff, 0x02, 0x00, 0x08, 0x00, 21]),
  Buffer.alloc(10),
  Buffer.from('901234567890\0mysql_native_password\0', 'latin1'),
])

function packet(sequence: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(packetHeaderBytes)
  header.writeUIntLE(payload.length, 0, 3)
  header.writeUInt8(sequence, 3)
  return Buffer.concat([header, payload])
}
