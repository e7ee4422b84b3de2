import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { describeError } from '#common/errors/errors.ts'
import { carriesToken } from '#common/http/bearer-token.ts'
import type { Logger } from '#common/log/logger.ts'
import type { CommandWorld } from '../actions/run-command.ts'
import { argvOf } from '../actions/argv.ts'
import { streamFrom } from '../actions/stream-command.ts'
import { streamLimitMs } from '../actions/time-limit.ts'
import type { BuiltInAction, OutgoingStream } from '../built-in/built-in-action.ts'
import type { StreamRequest } from '../wire/calls.ts'
import type { Action } from '../wire/definitions.ts'
import { Framer, preambleOf } from './frames.ts'
import { readHandshake } from './read-handshake.ts'

export interface StreamingParts {
  readonly actions: ReadonlyMap<string, Action>
  /** Names of those that may be streamed. */
  readonly streaming: ReadonlySet<string>
  /** What the agent does itself, by name; those that are streams are streamed without being named. */
  readonly builtIn?: ReadonlyMap<string, BuiltInAction>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly world: CommandWorld
  /** Undefined where everybody may ask. */
  readonly token: string | undefined
  /** Aborted when the agent stops: streams are broken off then. */
  readonly signal: AbortSignal
  readonly log: Logger
}

export interface StreamingServer {
  readonly server: Server
  /** Takes no more clients, and resolves when all streams have ended. */
  end(): Promise<void>
}

const maxStreams = 32
/** A client that has the whole stream gets so much time to end the connection. */
const afterEndMs = 30_000
/** When the agent stops, clients of broken streams get so much time to end their connections. */
const lastBytesMs = 1_000

/**
 * The raw TCP side of a lifecycle agent: a client writes one request, the output of its action comes back, and the
 * connection ends. A request that is refused ends without a byte. A stream that failed is reset, or tells so in its
 * trailer where the client asked for one.
 */
export function createStreamingServer(parts: StreamingParts): StreamingServer {
  const [sockets, waiting] = [new Set<Socket>(), new Set<Socket>()]
  const streams = new Set<Promise<void>>()
  // A client may end its own side after the request.
  const server = createServer({ allowHalfOpen: true, keepAlive: true }, (socket) => {
    // What is wrong with a connection is told where its data is handled.
    socket.on('error', () => undefined)
    sockets.add(socket)
    waiting.add(socket)
    socket.once('close', () => sockets.delete(socket))
    const served = readHandshake(socket, parts.world.timers)
      .finally(() => waiting.delete(socket))
      .then((request) => stream(socket, request, parts))
      .catch((error: unknown) => refuse(socket, error, parts.log))
      .finally(() => streams.delete(served))
    streams.add(served)
  })
  server.maxConnections = maxStreams
  server.on('drop', () => parts.log.warn(`a client was hung up on: ${maxStreams} are connected to the streaming port`))
  return {
    server,
    async end() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of waiting) socket.destroy()
      const cut = (): unknown => parts.world.timers.after(lastBytesMs, () => sockets.forEach((each) => each.destroy()))
      if (parts.signal.aborted) cut()
      else parts.signal.addEventListener('abort', cut, { once: true })
      await Promise.all([closed, ...streams])
    },
  }
}

function refuse(socket: Socket, error: unknown, log: Logger): void {
  log.warn({ caller: socket.remoteAddress }, `a stream was refused: ${describeError(error)}`)
  socket.end(() => socket.destroy())
}

/** Throws where the request is refused. */
async function stream(socket: Socket, request: StreamRequest, parts: StreamingParts): Promise<void> {
  const command = start(request, parts)
  const gone = (): void => command.kill('the client went away')
  socket.once('close', gone)
  if (socket.destroyed) gone()
  const framer = request.framing === undefined ? undefined : new Framer()
  if (request.framing !== undefined) socket.write(preambleOf(request.framing))
  const bytes = await sendAll(command, socket, framer)
  const end = await command.ended
  socket.off('close', gone)
  finish(socket, end.ok ? '' : end.why, framer)
  const told = { action: request.action, bytes }
  if (end.ok) parts.log.info(told, 'streamed')
  else parts.log.error(told, `the stream of ${request.action} failed: ${end.why}`)
}

function start(request: StreamRequest, parts: StreamingParts): OutgoingStream {
  const { token, builtIn, signal } = parts
  const name = request.action.slice(0, 60)
  if (token !== undefined && !carriesToken(`Bearer ${request.token ?? ''}`, token))
    throw new Error(`the request for ${name} carries no valid token`)
  const stream = builtIn?.get(request.action)?.stream
  if (stream === undefined) return startCommand(name, request, parts)
  return stream(request.parameters ?? {}, { deadlineMs: streamLimitMs({}, request), signal })
}

function startCommand(
  name: string,
  request: StreamRequest,
  { actions, streaming, environment, world, signal }: StreamingParts,
): OutgoingStream {
  const action = streaming.has(request.action) ? actions.get(request.action) : undefined
  if (action?.exec === undefined || argvOf(action.exec).length === 0)
    throw new Error(
      `"${name}" is no exec action that KB_AGENT_STREAMING names, and none that this agent streams itself`,
    )
  const command = { argv: argvOf(action.exec), environment: { ...environment, ...request.parameters } }
  const started = streamFrom(command, { deadlineMs: streamLimitMs(action, request), signal }, world)
  if (typeof started === 'string') throw new Error(`${name} could not be started: ${started}`)
  return started
}

/**
 * Sends everything that the action writes, as fast as the client reads, and gives the number of bytes. Returns early
 * where the action failed: a client that reads no more must not hold the connection.
 */
async function sendAll({ data, ended }: OutgoingStream, socket: Socket, framer: Framer | undefined): Promise<number> {
  const failed = new AbortController()
  void ended.then((end) => end.ok || failed.abort())
  let bytes = 0
  try {
    for await (const chunk of data as AsyncIterable<Buffer>) {
      if (socket.destroyed || failed.signal.aborted) break
      bytes += chunk.length
      for (const part of framer?.frame(chunk) ?? [chunk]) socket.write(part)
      if (socket.writableNeedDrain) await drained(socket, failed.signal)
    }
  } catch {
    // A pipe that was broken off, since the command was killed: its end says why.
  }
  return bytes
}

function drained(socket: Socket, failed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done)
      failed.removeEventListener('abort', done)
      resolve()
    }
    socket.on('drain', done).on('close', done)
    failed.addEventListener('abort', done)
    if (socket.destroyed || failed.aborted) done()
  })
}

/** `failure` is '' where all went well. */
function finish(socket: Socket, failure: string, framer: Framer | undefined): void {
  if (failure !== '' && framer === undefined) return void socket.resetAndDestroy()
  socket.setTimeout(afterEndMs, () => socket.destroy())
  if (framer === undefined) socket.end()
  else socket.end(framer.trailer(failure))
}
