import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostPort } from '#common/text/host-port.ts'
import { described, describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { readText } from '#common/http/http-transport.ts'
import type { Logger } from '#common/log/logger.ts'
import { problemContentType, problemOf } from '#common/http/problem.ts'
import { createTlsServer } from '#common/tls/tls-server.ts'
import type { CertificateSource } from '#common/tls/tls.ts'
import type { Runnable } from '#controller-runtime/runnables/runnables.ts'
import {
  refuse,
  requestIn,
  reviewWith,
  type AdmissionRequest,
  type AdmissionResponse,
  type AdmissionRoute,
} from '#kube/admission/admission.ts'
import type { ListenAddress } from '../options/listen-address.ts'

export interface WebhookServerParts {
  readonly address: ListenAddress
  /** The server does not listen before the first certificates are there. */
  readonly certificates: CertificateSource
  /** By path: `admissionRoutes` of `src/kube/admission/admission.ts`. */
  readonly routes: Readonly<Record<string, AdmissionRoute>>
  readonly log: Logger
}

export interface WebhookServer extends Runnable {
  /** Resolves with the address once it listens; port 0 becomes the one that was free. */
  ready(): Promise<ListenAddress>
}

/** A resource is at most 1.5 MiB in etcd, and a review has it twice. */
const maxBodyBytes = 8 * 1024 * 1024
/** The API server waits for 10 s unless its configuration says otherwise. */
const requestTimeoutMs = 5_000
const timeouts = {
  requestTimeout: requestTimeoutMs,
  headersTimeout: requestTimeoutMs,
  handshakeTimeout: requestTimeoutMs,
  connectionsCheckingInterval: 1_000,
} as const
/** A review is answered at once; who is still sending one when the server ends has so long. */
const graceMs = 1_000

/**
 * The admission webhooks over HTTPS. A review is answered with yes or no. What is no review gets a problem document,
 * and so does a pod that could not be judged. Nothing that Regent does itself waits for it.
 */
export function webhookServer(parts: WebhookServerParts): WebhookServer {
  const { address, certificates } = parts
  const listening = Promise.withResolvers<ListenAddress>()
  // The caller of `run` hears of the failure there.
  listening.promise.catch(() => undefined)

  async function run(signal: AbortSignal): Promise<void> {
    await firstCertificate(certificates, signal)
    if (signal.aborted) return
    // The caller is an API server of whatever version, so the newest TLS alone is too little.
    const server = createTlsServer(
      certificates,
      { minVersion: 'TLSv1.2', ...timeouts },
      (request, response) => void answer(parts, request, response),
    )
    await serve(server, { address, signal, listening: listening.resolve }).catch((error: NodeJS.ErrnoException) => {
      const failure =
        error.code === 'EADDRINUSE'
          ? new RegentError(
              'REGENT_ADDRESS_IN_USE',
              say`${hostPort(address.host, address.port)} (--webhook-port) is taken`,
              {
                cause: error,
              },
            )
          : error
      listening.reject(failure)
      throw failure
    })
  }

  return { name: 'webhook server', run, ready: () => listening.promise }
}

/** Resolves once there is one, or the signal is aborted. */
function firstCertificate(certificates: CertificateSource, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const forget = certificates.onChange(() => done())
    const done = (): void => {
      forget()
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
    if (signal.aborted || certificates.current() !== undefined) done()
  })
}

interface Serving {
  readonly address: ListenAddress
  readonly signal: AbortSignal
  readonly listening: (address: ListenAddress) => void
}

/** Until the signal is aborted: then what is being answered is finished. */
function serve(server: Server, { address, signal, listening }: Serving): Promise<void> {
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    const end = (): void => {
      const cut = setTimeout(() => server.closeAllConnections(), graceMs)
      server.close(() => {
        clearTimeout(cut)
        resolve()
      })
      server.closeIdleConnections()
    }
    server.listen(address.port, address.host, () => {
      const { address: host, port } = server.address() as AddressInfo
      listening({ host, port })
      if (signal.aborted) end()
      else signal.addEventListener('abort', end, { once: true })
    })
  })
}

async function answer(
  { routes, log }: WebhookServerParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path = '/'] = (request.url ?? '/').split('?')
  try {
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined
    if (route === undefined)
      throw new RegentError(
        'REGENT_NOT_FOUND',
        say`there is no ${path.slice(0, 200)}; there are ${Object.keys(routes).join(', ')}`,
      )
    if (request.method !== 'POST')
      throw new RegentError(
        'REGENT_METHOD_NOT_ALLOWED',
        say`${path} takes POST, not ${String(request.method).slice(0, 20)}`,
      )
    const asked = requestIn(await bodyOf(request))
    const review = reviewWith(judged(route, asked, log))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(review))
  } catch (error) {
    const problem = problemOf(error, path.slice(0, 200), 'kubernetes')
    response
      .writeHead(problem.status, {
        'content-type': problemContentType,
        connection: 'close',
        ...(problem.status === 405 ? { allow: 'POST' } : {}),
      })
      .end(JSON.stringify(problem))
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const text = await readText(request, maxBodyBytes).catch((error: unknown) => {
    throw new RegentError('REGENT_TOO_LARGE', say`the review cannot be read: ${described(error)}`, { cause: error })
  })
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new RegentError('REGENT_BAD_REQUEST', say`the review is not JSON: ${described(error)}`, { cause: error })
  }
}

/** Throws `REGENT_INTERNAL` where what cannot be judged is left to the policy of the webhook. */
function judged({ review, unjudged }: AdmissionRoute, asked: AdmissionRequest, log: Logger): AdmissionResponse {
  const { operation, namespace = '' } = asked
  const name = nameIn(asked)
  try {
    const response = review(asked)
    // Anybody who reaches the port may ask for a refusal, as often as they like.
    if (!response.allowed)
      log.debug(
        { operation, namespace, object: name, why: response.status?.message },
        `webhook refuses to ${operation.toLowerCase()} ${namespace}/${name}`,
      )
    return response
  } catch (error) {
    log.error({ err: error, operation, namespace, object: name }, `webhook: ${describeError(error)}`)
    const failure = new RegentError('REGENT_INTERNAL', say`${namespace}/${name} could not be judged`, { cause: error })
    if (unjudged === 'leftToPolicy') throw failure
    return refuse(asked, [failure], 500)
  }
}

/** The name of what is asked about, or what a made-up name will begin with. */
function nameIn({ name, object }: AdmissionRequest): string {
  if (name !== undefined && name !== '') return name
  const { generateName = '' } =
    (object as { readonly metadata?: { readonly generateName?: string } } | null)?.metadata ?? {}
  return generateName
}
