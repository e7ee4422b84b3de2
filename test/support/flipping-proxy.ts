import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from './free-port.ts'

/** One byte of what goes to the server (`up`) or comes from it, counted from when the proxy is told. */
export interface Flip {
  readonly way: 'up' | 'down'
  readonly at: number
  readonly bit: number
}

/** A TCP proxy on loopback that changes one bit on the way, anywhere: in a body, a header or a status. */
export class FlippingProxy {
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #flip: Flip | undefined
  #passed = { up: 0, down: 0 }

  private constructor(port: number, server: Server) {
    this.port = port
    this.#server = server
  }

  static async start(targetPort: number): Promise<FlippingProxy> {
    const port = await freePort()
    const server = createServer()
    const proxy = new FlippingProxy(port, server)
    server.on('connection', (client) => proxy.#join(client, connect(targetPort, '127.0.0.1')))
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    return proxy
  }

  /** @returns how many bytes went each way since the last call */
  next(flip: Flip | undefined): { readonly up: number; readonly down: number } {
    const passed = this.#passed
    this.#flip = flip
    this.#passed = { up: 0, down: 0 }
    return passed
  }

  async end(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #join(client: Socket, server: Socket): void {
    for (const [from, to, way] of [
      [client, server, 'up'],
      [server, client, 'down'],
    ] as const) {
      this.#sockets.add(from)
      from.on('error', () => undefined)
      from.on('data', (data) => to.write(this.#changed(data, way)))
      from.on('close', () => (this.#sockets.delete(from), to.destroy()))
    }
  }

  #changed(data: Buffer, way: Flip['way']): Buffer {
    const at = (this.#flip?.at ?? -1) - this.#passed[way]
    if (this.#flip?.way === way && at >= 0 && at < data.length) data[at] = (data[at] ?? 0) ^ (1 << this.#flip.bit)
    this.#passed[way] += data.length
    return data
  }
}
