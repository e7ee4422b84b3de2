import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { carriesToken } from '../src/common/bearer-token.ts'
import { describeError, RegentError } from '../src/common/errors.ts'
import { problemContentType, problemOf } from '../src/common/problem.ts'
import { agentRoutes } from '../failover/order.ts'
import type { Observation } from '../topology/observation.ts'

/** Gets every new observation, and null as often as a heartbeat is due. */
export type StreamListener = (observation: Observation | null) => void

/** What the agent's HTTP interface shows and takes. */
export interface AgentHandlers {
  observation(): Observation
  /** Calls `listener` after every change until the returned function is called. */
  subscribe(listener: StreamListener): () => void
  /** By route path; resolves to the JSON answer. */
  readonly orders: ReadonlyMap<string, (body: unknown) => Promise<unknown>>
  isLive(): boolean
  isReady(): boolean
  metrics(): string
}

const maxBodyBytes = 32 * 1024 * 1024

/**
 * The agent's HTTP interface. `/live` and `/ready` say yes or no to anyone; everything else needs the bearer token. Bare `node:http`: an agent
 * lives beside every server and has to be small.
 */
export function createAgentServer(handlers: AgentHandlers, token: string): Server {
  return createServer((request, response) => {
    answer(handlers, token, { request, response }).catch((error: unknown) => sendProblem(response, request, error))
  })
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

async function answer(handlers: AgentHandlers, token: string, exchange: Exchange): Promise<void> {
  const { request, response } = exchange
  const path = (request.url ?? '/').split('?')[0] ?? '/'
  if (path === '/live' || path === '/ready') {
    const yes = path === '/live' ? handlers.isLive() : handlers.isReady()
    response.writeHead(yes ? 200 : 503, { 'content-type': 'text/plain' }).end(yes ? 'yes\n' : 'no\n')
    return
  }
  if (!carriesToken(request.headers.authorization, token)) throw new RegentError('REGENT_UNAUTHORIZED', `${request.method} ${path} needs a valid bearer token`)
  if (request.method === 'GET') return answerGet(handlers, path, exchange)
  const order = request.method === 'POST' ? handlers.orders.get(path) : undefined
  if (order === undefined) throw new RegentError('REGENT_NOT_FOUND', `there is no ${request.method} ${path}; orders are POSTed to ${[...handlers.orders.keys()].join(', ')}`)
  const body = await readJson(request)
  sendJson(response, await order(body))
}

function answerGet(handlers: AgentHandlers, path: string, { response, request }: Exchange): void {
  if (path === agentRoutes.observations) return streamObservations(handlers, { request, response })
  if (path === '/metrics') {
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(handlers.metrics())
    return
  }
  throw new RegentError('REGENT_NOT_FOUND', `there is no GET ${path}; there are ${agentRoutes.observations}, /metrics, /live and /ready`)
}

/** Newline-delimited JSON: the whole observation at once, and again after every change; an empty line is a heartbeat. A reader that does not keep up loses its stream, never the agent its memory. */
function streamObservations(handlers: AgentHandlers, { request, response }: Exchange): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  request.socket.setNoDelay(true)
  const send: StreamListener = (observation) => {
    if (response.writableLength > 4 * 1024 * 1024) response.destroy()
    else response.write(observation === null ? '\n' : `${JSON.stringify(observation)}\n`)
  }
  const unsubscribe = handlers.subscribe(send)
  response.on('close', unsubscribe)
  send(handlers.observation())
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBodyBytes) throw new RegentError('REGENT_TOO_LARGE', `the body has more than ${maxBodyBytes} bytes`)
    chunks.push(chunk)
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new RegentError('REGENT_BAD_REQUEST', `the body is not JSON in UTF-8: ${describeError(error)}`, { cause: error })
  }
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function sendProblem(response: ServerResponse, request: IncomingMessage, error: unknown): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const problem = problemOf(error, request.url ?? '/')
  response.writeHead(problem.status, { 'content-type': problemContentType }).end(JSON.stringify(problem))
}
