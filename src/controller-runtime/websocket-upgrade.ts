import { createHash, randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import { refusalIn } from './kube-refusal.ts'

export interface UpgradeRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The only subprotocol that is offered. */
  readonly protocol: string
}

const longestRefusalBytes = 64 * 1024

/**
 * Turns a connection into a WebSocket and gives its bare socket. undici's own WebSocket keeps why a server refused to itself, and gives no
 * way to end a connection whose other side is silent; here a refusal rejects with KubeApiError and the server's words.
 */
export function upgradeToWebSocket(dispatcher: Dispatcher, request: UpgradeRequest, signal: AbortSignal): Promise<Duplex> {
  const { origin, pathname, search } = new URL(request.url)
  const path = pathname + search
  const key = randomBytes(16).toString('base64')
  const headers = { ...request.headers, 'sec-websocket-version': '13', 'sec-websocket-key': key, 'sec-websocket-protocol': request.protocol }
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    let answer: { readonly statusCode: number; readonly headers: Readonly<Record<string, string | string[] | undefined>>; text: string } | undefined
    dispatcher.dispatch(
      { origin, path, method: 'GET', headers, upgrade: 'websocket', headersTimeout: 0, bodyTimeout: 0 },
      {
        onRequestStart: () => undefined,
        onRequestUpgrade: (_controller, _statusCode, given, socket) => {
          const isOurs = given['sec-websocket-accept'] === acceptOf(key) && given['sec-websocket-protocol'] === request.protocol
          if (isOurs && !signal.aborted) return resolve(socket)
          socket.destroy()
          reject(new Error(`the answer to GET ${path} is no WebSocket of ${request.protocol}`))
        },
        onResponseStart: (_controller, statusCode, given) => {
          answer = { statusCode, headers: given, text: '' }
        },
        onResponseData: (_controller, chunk) => {
          if (answer !== undefined && answer.text.length < longestRefusalBytes) answer.text += chunk.toString('utf8')
        },
        onResponseEnd: () => reject(answer === undefined ? new Error(`no answer to GET ${path}`) : refusalIn(`GET ${path}`, answer)),
        onResponseError: (_controller, error) => reject(error),
      },
    )
  })
}

/** RFC 6455 §4.2.2: proves that the other side understood. */
export function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
}
