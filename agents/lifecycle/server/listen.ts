import { once } from 'node:events'
import { chmod, mkdir, unlink } from 'node:fs/promises'
import { connect, type AddressInfo, type NetConnectOpts, type Server } from 'node:net'
import { join } from 'node:path'
import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

/** Where a server listens, and the option that changes the place. */
export interface TcpPlace {
  readonly host: string
  readonly port: number
  readonly option: string
}

/** KubeBlocks’ name for the socket in the folder of `--unix-socket`. */
const socketName = 'kbagent.socket'

/** Listens on a port and gives it: port 0 is any that is free. Throws `REGENT_ADDRESS_IN_USE` and `REGENT_SYSTEM`. */
export async function listenOnPort(server: Server, { host, port, option }: TcpPlace): Promise<number> {
  try {
    server.listen({ host, port, exclusive: true })
    await once(server, 'listening')
  } catch (error) {
    const where = say`${host}:${port} (${option})`
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
      throw new RegentError('REGENT_ADDRESS_IN_USE', say`${where} is taken by another process`, { cause: error })
    throw new RegentError('REGENT_SYSTEM', say`cannot listen on ${where}: ${described(error)}`, { cause: error })
  }
  return (server.address() as AddressInfo).port
}

/**
 * Listens on the socket in a folder, which is made where missing, for this user and group alone, and gives the path. A
 * socket that nobody listens on is what a killed agent left, and is replaced. Throws as `listenOnPort`.
 */
export async function listenOnSocket(server: Server, folder: string): Promise<string> {
  const path = join(folder, socketName)
  try {
    await mkdir(folder, { recursive: true })
    if (await isListenedOn({ path }))
      throw new RegentError('REGENT_ADDRESS_IN_USE', say`${path} (--unix-socket) is taken by another process`)
    await unlink(path).catch(ignoreMissing)
    server.listen(path)
    await once(server, 'listening')
    await chmod(path, 0o660)
  } catch (error) {
    if (error instanceof RegentError) throw error
    throw new RegentError('REGENT_SYSTEM', say`cannot listen on ${path} (--unix-socket): ${described(error)}`, {
      cause: error,
    })
  }
  return path
}

/** Whether somebody takes a connection there. */
export async function isListenedOn(place: NetConnectOpts): Promise<boolean> {
  const socket = connect(place)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
