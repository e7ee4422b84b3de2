import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describeError } from '#common/errors/errors.ts'
import type { StreamRequest } from '../wire/calls.ts'
import { Unframer } from './frames.ts'

export interface Source {
  readonly host: string
  readonly port: number
}

/** A stream that comes in. */
export interface Received {
  /** Ends where everything came; where the server speaks in frames, anything else is an error of this stream. */
  readonly data: Unframer
  readonly socket: Socket
}

const connectMs = 5_000
/** A source says nothing while it prepares a copy. After so long its kernel is asked whether it is there. */
const silentMs = 30_000
/** KubeBlocks' client refuses to send more. */
const longestRequest = 4_096

/** Asks a streaming server for an action's output. Rejects where nobody listens, and for a request that is too long. */
export async function receive(source: Source, request: StreamRequest): Promise<Received> {
  const framing = randomBytes(16).toString('hex')
  const text = JSON.stringify({ ...request, framing })
  if (Buffer.byteLength(text) > longestRequest)
    throw new Error(`the request for ${request.action} has more than ${longestRequest} bytes`)
  const socket = connect({ ...source, keepAlive: true, keepAliveInitialDelay: silentMs })
  const data = new Unframer(framing)
  await connected(socket, source)
  socket.on('error', (error) => data.destroy(error))
  socket.once('close', () => {
    if (!socket.readableEnded) data.destroy(new Error(`the connection broke off after ${data.bytes} bytes`))
  })
  data.once('close', () => socket.destroy())
  socket.pipe(data)
  socket.write(text)
  return { data, socket }
}

async function connected(socket: Socket, { host, port }: Source): Promise<void> {
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(connectMs) })
  } catch (error) {
    socket.destroy()
    const why =
      socket.connecting || (error as Error).name === 'AbortError' ? 'no answer within 5 s' : describeError(error)
    throw new Error(`${host}:${port} cannot be reached: ${why}`, { cause: error })
  }
}
