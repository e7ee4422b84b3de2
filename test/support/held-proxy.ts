import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from './free-port.ts'

/**
 * A TCP proxy on loopback that passes on so many bytes of the answer and then holds the rest back, until the test cuts
 * the connection or lets it go on.
 */
export class HeldProxy {
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #held: PromiseWithResolvers<undefined>
  #source: Socket | undefined

  private constructor(port: number, server: Server) {
    this.port = port
    this.#server = server
    this.#held = Promise.withResolvers<undefined>()
  }

  static async start(target: { readonly host: string; readonly port: number }, passes: number): Promise<HeldProxy> {
    const server = createServer()
    const proxy = new HeldProxy(await freePort(), server)
    server.on('connection', (client) => proxy.#join(client, connect(target), passes))
    await new Promise<void>((resolve) => server.listen(proxy.port, '127.0.0.1', resolve))
    return proxy
  }

  /** Resolves once so many bytes were passed on. */
  get held(): Promise<undefined> {
    return this.#held.promise
  }

  goOn(): void {
    this.#source?.resume()
  }

  /** Cuts what is connected, in both directions. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async end(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #join(client: Socket, source: Socket, passes: number): void {
    this.#source = source
    for (const socket of [client, source]) {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
    }
    let passed = 0
    client.on('data', (data) => source.write(data))
    source.on('data', (data) => {
      const before = passed
      passed += data.length
      client.write(data)
      if (before >= passes || passed < passes) return
      source.pause()
      this.#held.resolve(undefined)
    })
    source.on('end', () => client.end())
    // After an end the client still has to be sent what waits for it.
    source.on('close', () => source.readableEnded || client.destroy())
    client.on('close', () => source.destroy())
  }
}
