import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from './free-port.ts'

/**
 * What the proxy does with the next request that holds the text it was given:
 * `cut` passes it on and cuts the connection when the answer comes, which the client never sees;
 * `delay` keeps it, and passes it on only after the client has given up and `delayMs` more have gone.
 */
export type Fault =
  | { readonly kind: 'cut'; readonly text: string }
  | { readonly kind: 'delay'; readonly text: string; readonly delayMs: number }

/** A TCP proxy on loopback that breaks one connection when it is told to. */
export class FaultyProxy {
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #fault: Fault | undefined

  private constructor(port: number, server: Server) {
    this.port = port
    this.#server = server
  }

  static async start(targetPort: number): Promise<FaultyProxy> {
    const port = await freePort()
    const server = createServer({ allowHalfOpen: true })
    const proxy = new FaultyProxy(port, server)
    server.on('connection', (client) =>
      proxy.#join(client, connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true })),
    )
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    return proxy
  }

  next(fault: Fault): void {
    this.#fault = fault
  }

  async end(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #join(client: Socket, server: Socket): void {
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
    }
    let answersAreCut = false
    let kept: Fault | undefined
    client.on('data', (data) => {
      const fault = this.#fault !== undefined && data.includes(this.#fault.text) ? this.#fault : undefined
      if (fault !== undefined) this.#fault = undefined
      answersAreCut ||= fault?.kind === 'cut'
      if (fault?.kind !== 'delay') return server.write(data)
      kept = fault
      client.once('close', () => setTimeout(() => server.write(data), fault.delayMs))
    })
    server.on('data', (data) => (answersAreCut ? client.destroy() : client.write(data)))
    client.on('end', () => client.end())
    client.on('close', () => kept ?? server.destroy())
    server.on('close', () => client.destroy())
  }
}
