import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { describeFailure } from '#common/http/agent-request.ts'
import { kubePath, type KubePath } from '#common/http/kube-path.ts'
import { readText } from '#common/http/http-transport.ts'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import type { KubeEvent } from './event-object.ts'
import type { EventStore } from './sender.ts'

/** Where a pod finds the API server, and its own credentials. */
export interface ServiceAccount {
  readonly host: string
  readonly port: number
  /** The folder with `token` and `ca.crt`. */
  readonly folder: string
}

const usualFolder = '/var/run/secrets/kubernetes.io/serviceaccount'
const deadlineMs = 5_000
const longestAnswer = 1024 * 1024

/** What a pod's environment says of the API server; undefined outside a cluster. */
export function findServiceAccount(
  environment: Readonly<Record<string, string | undefined>>,
): ServiceAccount | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment
  if (!host || !port) return undefined
  return { host, port: Number(port), folder: usualFolder }
}

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: KubePath
  readonly body?: KubeEvent
}

interface Answer {
  readonly status: number
  readonly text: string
}

/**
 * Events through the API server, with nothing but Node. Token and authority are read for every request: the kubelet
 * replaces both files while the pod runs.
 */
export function kubeEventStore(account: ServiceAccount): EventStore & { close(): void } {
  let [knownCa, connections] = ['', new Agent()]

  /** Connections that trust this authority and no other. */
  function connectionsFor(ca: string): Agent {
    if (ca === knownCa) return connections
    connections.destroy()
    ;[knownCa, connections] = [ca, new Agent({ keepAlive: true, maxFreeSockets: 1, ca })]
    return connections
  }

  async function ask(call: Call): Promise<Answer> {
    const [token, ca] = await Promise.all([read(account.folder, 'token'), read(account.folder, 'ca.crt')])
    return exchange(account, call, { token: token.trim(), agent: connectionsFor(ca) })
  }

  return {
    async get(namespace, name) {
      const call: Call = { method: 'GET', path: pathOf(namespace, name) }
      const answer = await ask(call)
      return answer.status === 404 ? undefined : (JSON.parse(accepted(call, answer)) as KubeEvent)
    },
    async create(event) {
      const call: Call = { method: 'POST', path: pathOf(event.metadata.namespace), body: event }
      accepted(call, await ask(call))
    },
    async update(event) {
      const { namespace, name } = event.metadata
      const call: Call = { method: 'PUT', path: pathOf(namespace, name), body: event }
      accepted(call, await ask(call))
    },
    close: () => connections.destroy(),
  }
}

function pathOf(namespace: string, name?: string): KubePath {
  return kubePath({ group: '', version: 'v1', plural: 'events', namespace, ...(name !== undefined && { name }) })
}

async function read(folder: string, name: string): Promise<string> {
  const path = join(folder, name)
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw new RegentError('REGENT_KUBE_CONFIG', say`${path} of the pod’s service account cannot be read`, { cause })
  })
}

async function exchange(
  { host, port }: ServiceAccount,
  { method, path, body }: Call,
  { token, agent }: { readonly token: string; readonly agent: Agent },
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const text = body === undefined ? '' : JSON.stringify(body)
  const outgoing = request(
    {
      host,
      port,
      path,
      method,
      agent,
      signal: AbortSignal.timeout(deadlineMs),
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...(text !== '' && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      },
    },
    (incoming) => {
      readText(incoming, longestAnswer).then(
        (answer) => resolve({ status: incoming.statusCode ?? 0, text: answer }),
        reject,
      )
    },
  )
  outgoing.on('error', reject)
  outgoing.end(text)
  return promise.catch((cause: unknown) => {
    const why = (cause as Error).name === 'AbortError' ? say`no answer within ${deadlineMs} ms` : describeFailure(cause)
    throw new RegentError('REGENT_KUBE_UNREACHABLE', say`${method} ${path} at ${host}:${port}: ${why}`, {
      cause,
    })
  })
}

/** The text of an answer that says yes. Throws `REGENT_KUBE_API` with the server's own words otherwise. */
function accepted({ method, path }: Call, { status, text }: Answer): string {
  if (status >= 200 && status < 300) return text
  throw new RegentError('REGENT_KUBE_API', say`${method} ${path}: HTTP ${status}: ${reported(wordsOf(text))}`)
}

function wordsOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown }
    if (typeof message === 'string') return message.slice(0, 500)
  } catch {
    // What is no JSON is told as it is.
  }
  return text.slice(0, 200)
}
