import type { Socket } from 'node:net'
import { describeError } from '#common/errors/errors.ts'
import type { Timers } from '#common/ports/ports.ts'
import { readActionRequest } from '../wire/action-request.ts'
import type { StreamRequest } from '../wire/calls.ts'
import { longestHandshake, ObjectEnd } from './object-end.ts'

const handshakeMs = 10_000

/**
 * The request at the beginning of a connection. Rejects for anything else, and after ten seconds, however much came: a
 * client that sends a byte now and then has one of few places.
 */
export async function readHandshake(socket: Socket, timers: Timers): Promise<StreamRequest> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const [scanner, chunks]: [ObjectEnd, Buffer[]] = [new ObjectEnd(), []]
  let size = 0
  const take = (chunk: Buffer): void => {
    try {
      const end = scanner.find(chunk)
      chunks.push(chunk.subarray(0, end))
      size += end ?? chunk.length
      if (size > longestHandshake) reject(new Error(`its request is longer than ${longestHandshake} bytes`))
      else if (end !== undefined) resolve(Buffer.concat(chunks))
    } catch (error) {
      reject(new Error(`its request is not understood: ${describeError(error)}`))
    }
  }
  socket.on('data', take)
  socket.once('close', () => reject(new Error('it went away before its request')))
  socket.once('end', () => reject(new Error('it ended before its request')))
  const late = (): void => reject(new Error(`no request came within ${handshakeMs / 1_000} s`))
  const timer = timers.after(handshakeMs, late)
  try {
    return requestIn(await promise)
  } finally {
    timer.cancel()
    socket.off('data', take)
    // Read on, so that the end of the connection is seen.
    socket.resume()
  }
}

function requestIn(body: Buffer): StreamRequest {
  const parsed = readActionRequest(body)
  if ('request' in parsed) return parsed.request
  throw new Error(parsed.refused.ok ? 'its request is refused' : parsed.refused.message)
}
