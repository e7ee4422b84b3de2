import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** An address of IPv4 on this machine that leads to a server elsewhere until the door is closed. */
export interface LoopbackDoor {
  readonly host: string
  readonly port: number
  close(): void
}

const host = '127.0.0.1'

/** Opens a door to a server. A client that comes in meets that server's own login and TLS. */
export async function openDoor(to: { readonly host: string; readonly port: number }): Promise<LoopbackDoor> {
  const open = new Set<Socket>()
  const door = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const far = connect({ host: to.host, port: to.port, allowHalfOpen: true, noDelay: true })
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket)
      socket.once('error', () => other.destroy())
      socket.once('close', () => open.delete(socket))
      socket.pipe(other)
    }
  })
  await once(door.listen(0, host), 'listening')
  return {
    host,
    port: (door.address() as AddressInfo).port,
    close: () => {
      door.close()
      for (const socket of open) socket.destroy()
    },
  }
}
