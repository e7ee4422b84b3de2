import { createSocket, type Socket } from 'node:dgram'
import { createServer } from 'node:net'

/** Of this process, for as long as it lives. */
const claims: Socket[] = []

/**
 * Claims a port of an address for this process until its end, so that no other test of this machine is given the same
 * one before it is used. UDP, which nobody else speaks here: TCP stays free. False where somebody else has it.
 */
export async function claimPort(host: string, port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref()
  const isOurs = await new Promise<boolean>((resolve) => {
    socket.once('error', () => resolve(false))
    socket.bind({ address: host, port, exclusive: true }, () => resolve(true))
  })
  if (isOurs) claims.push(socket)
  else socket.close()
  return isOurs
}

/** A loopback port that nobody has; below 32768, where no connection of ours gets its own end from. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    if (!(await claimPort('127.0.0.1', port))) continue
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
