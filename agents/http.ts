import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { TLSSocket } from 'node:tls'
import { carriesToken } from '#common/http/bearer-token.ts'
import { parseBoundedJson } from '#common/input/bounded-json.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { createServer } from '#common/http/node-http.ts'
import { withParts } from '#common/sentence/sentence-wire.ts'
import { createTlsServer } from '#common/tls/tls-server.ts'
import { mayCall, ownTlsName } from '#common/tls/tls-names.ts'
import { complaintAboutPeer, type CertificateSource } from '#common/tls/tls.ts'
import { problemContentType, problemOf, type Problem } from '#common/http/problem.ts'
import { followerIn, observationsRoute, type Follower } from '#failover/protocol/message.ts'
import type { Observation } from '#topology/snapshot/observation.ts'

/** Gets every new observation, and null as often as a heartbeat is due. */
export type StreamListener = (observation: Observation | null) => void

/** What the agent's HTTP interface shows and takes. */
export interface AgentHandlers {
  observation(): Observation
  /** Calls `listener` after every change until the returned function is called. */
  subscribe(listener: StreamListener, follower: Follower): () => void
  /** By route path; resolves to the JSON answer. */
  readonly orders: ReadonlyMap<string, (body: unknown) => Promise<unknown>>
  isLive(): boolean
  isReady(): boolean
  metrics(): string
}

const maxBodyBytes = 32 * 1024 * 1024

export interface AgentServerOptions {
  readonly token: string
  /** With them the agent speaks TLS, and only to those who show a certificate of the same authority. */
  readonly certificates?: CertificateSource | undefined
  /** Why the agent knows nothing of its server, and can do nothing there; null while it does. */
  readonly whyBlind?: () => RegentError | null
}

/**
 * The agent's HTTP interface. `/live` and `/ready` say yes or no; everything else needs the bearer token. Bare
 * `node:http`: an agent lives beside every server and has to be small.
 */
export function createAgentServer(
  handlers: AgentHandlers,
  { token, certificates, whyBlind = () => null }: AgentServerOptions,
): Server {
  // Agents speak TLS in pods, and only there.
  const where = certificates === undefined ? 'local' : 'kubernetes'
  const refuse = (request: IncomingMessage, response: ServerResponse, error: unknown): void =>
    sendProblem(response, problemOf(error, request.url ?? '/', where))
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    answer(handlers, { token, whyBlind }, { request, response }).catch((error: unknown) =>
      refuse(request, response, error),
    )
  }
  if (certificates === undefined) return keepingConnections(createServer(listener))
  // Not refused in the handshake, which could only hang up: whoever has a wrong certificate is told what is wrong with
  // it.
  const server = createTlsServer(
    certificates,
    { requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      const complaint = complaintAboutCaller(request, certificates)
      if (complaint === undefined) return listener(request, response)
      response.setHeader('connection', 'close')
      refuse(
        request,
        response,
        new RegentError('REGENT_UNAUTHORIZED', say`the caller’s certificate is refused: ${complaint}`),
      )
    },
  )
  // Clients that came before are checked again, by the new certificates.
  server.once(
    'close',
    certificates.onChange(() => server.closeIdleConnections()),
  )
  return keepingConnections(server)
}

/**
 * A replica is ordered nothing for weeks, and then a handshake would be a part of the outage: its managers' connections
 * stay, also idle.
 */
function keepingConnections(server: Server): Server {
  server.keepAliveTimeout = 0
  return server
}

/**
 * For the kubelet and Prometheus, which have neither certificate nor token: `/live` and `/ready`, yes or no, and
 * `/metrics`, to anyone. Nothing else is here.
 */
export function createProbeServer(handlers: Pick<AgentHandlers, 'isLive' | 'isReady' | 'metrics'>): Server {
  return createServer((request, response) => {
    const path = pathOf(request)
    if (answerProbe(handlers, path, response)) return
    if (path === '/metrics') return sendMetrics(handlers, response)
    response.writeHead(404, { 'content-type': 'text/plain' }).end('there are /live, /ready and /metrics\n')
  })
}

function complaintAboutCaller({ socket }: IncomingMessage, certificates: CertificateSource): Sentence | undefined {
  const own = certificates.current()
  if (!(socket instanceof TLSSocket) || own === undefined) return say`it cannot be checked`
  const shown = socket.getPeerX509Certificate()
  if (shown === undefined) return say`none was shown`
  // A code on the server's side, whatever its type says.
  if (!socket.authorized)
    return (
      complaintAboutPeer(String(socket.authorizationError)) ?? say`it fails with ${String(socket.authorizationError)}`
    )
  const name = ownTlsName(own)
  return mayCall(shown, name) ? undefined : say`it is for ${shown.subjectAltName ?? say`nobody`}, and calls ${name}`
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

async function answer(
  handlers: AgentHandlers,
  { token, whyBlind }: Required<Pick<AgentServerOptions, 'token' | 'whyBlind'>>,
  exchange: Exchange,
): Promise<void> {
  const { request, response } = exchange
  const path = pathOf(request)
  if (answerProbe(handlers, path, response)) return
  if (!carriesToken(request.headers.authorization, token))
    throw new RegentError('REGENT_UNAUTHORIZED', say`${request.method} ${path} needs a valid bearer token`)
  const blind = whyBlind()
  if (blind !== null) throw blind
  if (request.method === 'GET') return answerGet(handlers, path, exchange)
  const order = request.method === 'POST' ? handlers.orders.get(path) : undefined
  if (order === undefined)
    throw new RegentError(
      'REGENT_NOT_FOUND',
      say`there is no ${request.method} ${path}; orders are POSTed to ${[...handlers.orders.keys()].join(', ')}`,
    )
  const body = await readJson(request)
  sendJson(response, await order(body))
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?')[0] ?? '/'
}

/** @returns whether the path is one of those. */
function answerProbe(
  handlers: Pick<AgentHandlers, 'isLive' | 'isReady'>,
  path: string,
  response: ServerResponse,
): boolean {
  if (path !== '/live' && path !== '/ready') return false
  const yes = path === '/live' ? handlers.isLive() : handlers.isReady()
  response.writeHead(yes ? 200 : 503, { 'content-type': 'text/plain' }).end(yes ? 'yes\n' : 'no\n')
  return true
}

function answerGet(handlers: AgentHandlers, path: string, { response, request }: Exchange): void {
  if (path === observationsRoute) return streamObservations(handlers, { request, response })
  if (path === '/metrics') return sendMetrics(handlers, response)
  throw new RegentError(
    'REGENT_NOT_FOUND',
    say`there is no GET ${path}; there are ${observationsRoute}, /metrics, /live and /ready`,
  )
}

function sendMetrics(handlers: Pick<AgentHandlers, 'metrics'>, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(handlers.metrics())
}

/**
 * Newline-delimited JSON: the whole observation at once, and again after every change; an empty line is a heartbeat. A
 * reader that does not keep up loses its stream, never the agent its memory.
 */
function streamObservations(handlers: AgentHandlers, { request, response }: Exchange): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  request.socket.setNoDelay(true)
  const send: StreamListener = (observation) => {
    if (response.writableLength > 4 * 1024 * 1024) response.destroy()
    else response.write(observation === null ? '\n' : `${withParts(observation)}\n`)
  }
  const unsubscribe = handlers.subscribe(send, followerIn(request.url ?? ''))
  response.on('close', unsubscribe)
  send(handlers.observation())
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBodyBytes)
      throw new RegentError('REGENT_TOO_LARGE', say`the body has more than ${maxBodyBytes} bytes`)
    chunks.push(chunk)
  }
  return parseBoundedJson(decode(Buffer.concat(chunks)), say`the body`)
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new RegentError('REGENT_BAD_REQUEST', say`the body is not JSON in UTF-8: ${described(cause)}`, { cause })
  }
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function sendProblem(response: ServerResponse, problem: Problem): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  response.writeHead(problem.status, { 'content-type': problemContentType }).end(withParts(problem))
}
