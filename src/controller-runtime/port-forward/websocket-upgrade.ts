import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { WebSocket, type ClientOptions } from 'ws'
import { describeError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { request as httpRequest } from '#common/http/node-http.ts'
import { hostOf } from '../kube-config/environment-proxy.ts'
import type { KubeConnection, TlsSettings } from '../kube-config/kube-config.ts'
import { refusalIn } from '../client/kube-refusal.ts'

export interface UpgradeRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The only subprotocol that is offered. */
  readonly protocol: string
}

const longestRefusalBytes = 64 * 1024
/** A kubelet sends 32 KiB at a time. */
const longestMessage = 16 * 1024 * 1024

/**
 * Begins a WebSocket to the API server, through the kubeconfig's proxy where it names one. Its listeners can be set
 * before anything arrives; `opened` tells when it is open. Rejects with the signal's reason, or the error of the proxy.
 */
export async function beginWebSocket(
  { proxyUrl }: KubeConnection,
  tls: TlsSettings,
  { url, headers, protocol }: UpgradeRequest,
  signal: AbortSignal,
): Promise<WebSocket> {
  const target = new URL(url)
  const options: ClientOptions = {
    ...tls,
    headers,
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: longestMessage,
  }
  if (proxyUrl === undefined) return new WebSocket(url, [protocol], options)
  const socket = await tunnelThrough(new URL(proxyUrl), target, signal)
  const host = hostOf(target)
  // An address is no server name (RFC 6066); the certificate is compared with it all the same.
  const named = isIP(host) === 0 ? { servername: host } : { host }
  const createConnection = (): Socket =>
    target.protocol === 'https:' ? tlsConnect({ ...named, ...tls, socket }) : socket
  return new WebSocket(url, [protocol], { ...options, createConnection })
}

/**
 * Resolves when it is open. Rejects with KubeApiError and the server's words where it refuses, and with the signal's
 * reason.
 */
export function opened(websocket: WebSocket, { url }: UpgradeRequest, signal: AbortSignal): Promise<void> {
  const { pathname, search } = new URL(url)
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason as Error)
      websocket.terminate()
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    websocket.once('open', () => {
      signal.removeEventListener('abort', abort)
      resolve()
    })
    websocket.once('error', reject)
    websocket.once('unexpected-response', (request, response) => {
      beginningOf(response)
        .then(
          (text) =>
            reject(
              refusalIn(say`GET ${pathname}${search}`, {
                statusCode: response.statusCode ?? 0,
                headers: response.headers,
                text,
              }),
            ),
          reject,
        )
        .finally(() => request.destroy())
    })
  })
}

async function beginningOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk
    if (text.length >= longestRefusalBytes) break
  }
  return text
}

function tunnelThrough(proxy: URL, target: URL, signal: AbortSignal): Promise<Socket> {
  const authority = `${target.hostname}:${target.port || (target.protocol === 'https:' ? '443' : '80')}`
  const login =
    proxy.username === ''
      ? {}
      : {
          'proxy-authorization': `Basic ${Buffer.from(`${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`).toString('base64')}`,
        }
  const request = (proxy.protocol === 'https:' ? httpsRequest : httpRequest)({
    host: hostOf(proxy),
    port: proxy.port || undefined,
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...login },
    signal,
  })
  return new Promise((resolve, reject) => {
    request.on('error', (error) =>
      reject(
        signal.aborted
          ? (signal.reason as Error)
          : new Error(`the proxy ${proxy.host}: ${describeError(error)}`, { cause: error }),
      ),
    )
    request.on('connect', ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket)
      socket.destroy()
      reject(new Error(`the proxy ${proxy.host} answered HTTP ${statusCode} to CONNECT ${authority}`))
    })
    request.end()
  })
}
