import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { hostPort } from '#common/text/host-port.ts'
import { codeOf, describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Logger } from '#common/log/logger.ts'
import { createServer } from '#common/http/node-http.ts'
import { problemContentType, problemOf, type Problem } from '#common/http/problem.ts'
import type { Runnable } from '#controller-runtime/runnables/runnables.ts'
import type { ListenAddress } from '../options/listen-address.ts'

export interface PlainAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Readable
}

export interface PlainRequest {
  readonly query: URLSearchParams
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
}

export interface PlainServerParts {
  readonly name: string
  readonly address: ListenAddress
  /** The option that changes the address, for the message when it is taken. */
  readonly option: string
  /** By path; each is asked with GET. */
  readonly routes: Readonly<Record<string, (request: PlainRequest) => Promise<PlainAnswer>>>
  readonly log: Logger
}

export interface PlainServer extends Runnable {
  /** Resolves with the address once it listens; port 0 becomes the one that was free. */
  ready(): Promise<ListenAddress>
}

const requestTimeoutMs = 5_000

/** A few pages over plain HTTP for whoever reaches the address: no token is asked for. */
export function plainServer(parts: PlainServerParts): PlainServer {
  const listening = Promise.withResolvers<ListenAddress>()
  // The caller of `run` hears of the failure there.
  listening.promise.catch(() => undefined)

  async function run(signal: AbortSignal): Promise<void> {
    const server = createServer(
      { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs },
      (request, response) => {
        void answer(parts, { method: request.method ?? '', url: request.url ?? '/' }, response)
      },
    )
    const ended = Promise.withResolvers<void>()
    server.on('error', (error: NodeJS.ErrnoException) => {
      const { address, option } = parts
      const taken =
        error.code === 'EADDRINUSE' &&
        new RegentError('REGENT_ADDRESS_IN_USE', say`${hostPort(address.host, address.port)} (${option}) is taken`, {
          cause: error,
        })
      listening.reject(taken || error)
      ended.reject(taken || error)
    })
    const end = (): void => {
      server.close(() => ended.resolve())
      server.closeAllConnections()
    }
    server.listen(parts.address.port, parts.address.host, () => {
      const { address, port } = server.address() as AddressInfo
      listening.resolve({ host: address, port })
      if (signal.aborted) end()
      else signal.addEventListener('abort', end, { once: true })
    })
    await ended.promise
  }

  return { name: parts.name, run, ready: () => listening.promise }
}

async function answer(
  { routes, log, name }: PlainServerParts,
  { method, url }: { readonly method: string; readonly url: string },
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const [path = '/', query] = url.split('?', 2)
  try {
    const route = routes[path]
    if (route === undefined)
      throw new RegentError(
        'REGENT_NOT_FOUND',
        say`there is no ${path.slice(0, 200)}; there are ${Object.keys(routes).join(', ')}`,
      )
    if (method !== 'GET')
      throw new RegentError('REGENT_METHOD_NOT_ALLOWED', say`${path} takes GET, not ${method.slice(0, 20)}`)
    const { status = 200, headers, body } = await route({ query: new URLSearchParams(query), signal: gone.signal })
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', ...headers })
    if (typeof body === 'string') response.end(body)
    else await pipeline(body, response)
  } catch (error) {
    if (gone.signal.aborted) return
    const problem = problemOf(error, path.slice(0, 200))
    if (codeOf(error) === 'REGENT_INTERNAL')
      log.error({ err: error, path: problem.instance }, `${name}: ${describeError(error)}`)
    tell(response, problem)
  }
}

/** An answer that has begun can only be broken off. */
function tell(response: ServerResponse, problem: Problem): void {
  if (response.headersSent) return void response.destroy()
  const allow = problem.status === 405 ? { allow: 'GET' } : {}
  response.writeHead(problem.status, { 'content-type': problemContentType, ...allow }).end(JSON.stringify(problem))
}
