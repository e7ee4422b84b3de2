import { connect, createServer, type Server, type Socket } from 'node:net'

interface Place {
  readonly host: string
  readonly port: number
}

export type Way = 'there' | 'back'

/** A TCP proxy between an agent and a host: it may be long, narrow or closed, or be cut at a byte. */
export class Road {
  /** So late everything arrives, each way. */
  delayMs = 0
  /** So many bytes pass in a second, each way. */
  bytesPerSecond = Infinity
  /** So much came back by it. */
  bytesBack = 0
  #isHushed = false
  readonly #server: Server
  /** And the ports that their clients come from. */
  readonly #sockets = new Map<Socket, number>()
  /** Whom nobody lets through. */
  #isClosedFor: (port: number) => boolean = () => false
  #cutAt: { readonly way: Way; left: number; readonly cut: () => void } | undefined

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(at: Place, target: Place): Promise<Road> {
    const server = createServer()
    const road = new Road(server)
    server.on('connection', (client) => road.#join(client, target))
    await new Promise<void>((resolve) => server.listen(at.port, at.host, resolve))
    return road
  }

  /**
   * Cuts what is connected, and lets nobody through until it is mended.
   *
   * @param whom by the port that one comes from; all unless given
   */
  close(whom: (port: number) => boolean = () => true): void {
    this.#isClosedFor = whom
    for (const [socket, port] of this.#sockets) if (whom(port)) socket.destroy()
  }

  /** Nothing passes any more, and nobody is told, as by a cable that was pulled. For good. */
  hush(): void {
    this.#isHushed = true
  }

  mend(): void {
    this.#cutAt = undefined
    this.#isClosedFor = () => false
  }

  /** Closes once so many more bytes went that way; resolves then. */
  closeAfter(bytes: number, way: Way): Promise<void> {
    return new Promise((cut) => (this.#cutAt = { way, left: bytes, cut }))
  }

  async end(): Promise<void> {
    this.close()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #join(client: Socket, target: Place): void {
    const port = client.remotePort ?? 0
    if (this.#isClosedFor(port)) return void client.destroy()
    const server = connect(target)
    for (const socket of [client, server]) {
      this.#sockets.set(socket, port)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        client.destroy()
        server.destroy()
      })
    }
    this.#pass(client, server, 'there')
    this.#pass(server, client, 'back')
  }

  #pass(from: Socket, to: Socket, way: Way): void {
    let freeAtMs = 0
    from.on('data', (data) => {
      if (this.#isHushed) return
      if (way === 'back') this.bytesBack += data.length
      if (this.#isCutBy(data.length, way)) return this.close()
      const nowMs = performance.now()
      freeAtMs = Math.max(nowMs, freeAtMs) + (data.length / this.bytesPerSecond) * 1_000
      const waitMs = freeAtMs - nowMs + this.delayMs
      if (waitMs < 1) return void to.write(data)
      setTimeout(() => to.write(data), waitMs)
      // No more is on its way than the road holds.
      if (waitMs > this.delayMs + 200) {
        from.pause()
        setTimeout(() => from.resume(), waitMs - this.delayMs)
      }
    })
  }

  #isCutBy(bytes: number, way: Way): boolean {
    const cut = this.#cutAt
    if (cut?.way !== way) return false
    cut.left -= bytes
    if (cut.left > 0) return false
    this.#cutAt = undefined
    cut.cut()
    return true
  }
}
