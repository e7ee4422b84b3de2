import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { JsonPatchOperation } from './client/kube-client.ts'
import type { KubeConnection } from './kube-config/kube-config.ts'
import { FakeApiState, FakeRefusal, type StoredEvent, type StoredObject, type Written } from './testing-api-state.ts'
import { answerPortForward } from './testing-port-forward.ts'

/** What a test can look at: one request as it came. */
export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

export interface Misbehaviour {
  /** Which requests; all unless given. */
  readonly when?: (request: SeenRequest) => boolean
  /** How many of them; 1 unless given. */
  readonly times?: number
  /**
   * An HTTP status to refuse with (with a proxy's page instead of a Status, if given), a connection cut, or no answer
   * at all.
   */
  readonly answer:
    | { readonly status: number; readonly reason?: string; readonly retryAfterSeconds?: number; readonly page?: string }
    | 'reset'
    | 'silence'
}

interface OpenWatch {
  readonly response: ServerResponse
  readonly matches: (event: StoredEvent) => boolean
  readonly kind: string
}

interface Target extends Omit<Written, 'name'> {
  readonly name: string | undefined
  readonly everywhere: boolean
}

/**
 * A small Kubernetes API in memory on loopback, for tests: lists in pages, watches with bookmarks, compare-and-swap,
 * merge and JSON patches, finalizers, `status`; no admission, no defaults, and server-side apply without field
 * ownership. The server can be told to misbehave.
 */
export class FakeApiServer implements AsyncDisposable {
  readonly state = new FakeApiState()
  readonly requests: SeenRequest[] = []
  /** What listens in pods: `namespace/pod:port` to a port of loopback. */
  readonly forwards = new Map<string, number>()
  /** Watches are accepted and then told nothing. */
  deaf = false
  /** How many connections are open, and how many were at most at once. */
  readonly connections = { open: 0, most: 0 }
  readonly #server: Server
  readonly #watches = new Set<OpenWatch>()
  readonly #upgraded = new Set<Duplex>()
  readonly #pages = new Map<string, { readonly rest: readonly StoredObject[]; readonly version: string }>()
  readonly #plans: { plan: Misbehaviour; left: number }[] = []
  #tokens = 0

  private constructor() {
    this.#server = createServer((request, response) => void this.#handle(request, response))
    this.#server.on('connection', (socket) => {
      this.connections.open += 1
      this.connections.most = Math.max(this.connections.most, this.connections.open)
      socket.once('close', () => (this.connections.open -= 1))
    })
    this.#server.on('upgrade', (request, socket) => this.#upgrade(request, socket))
    this.state.onEvent = (event) => this.#tell(event)
  }

  static async start(): Promise<FakeApiServer> {
    const server = new FakeApiServer()
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get connection(): KubeConnection {
    const { port } = this.#server.address() as AddressInfo
    return {
      server: `http://127.0.0.1:${port}`,
      namespace: 'default',
      credentials: async () => ({ headers: { authorization: 'Bearer test' }, tls: {} }),
    }
  }

  get openWatches(): number {
    return this.#watches.size
  }

  /** Port-forwards that nobody has ended. */
  get openForwards(): number {
    return this.#upgraded.size
  }

  misbehave(plan: Misbehaviour): void {
    this.#plans.push({ plan, left: plan.times ?? 1 })
  }

  /** Behaves again. */
  recover(): void {
    this.#plans.length = 0
  }

  /** Cleanly, as after `timeoutSeconds`. */
  endWatches(): void {
    for (const { response } of this.#watches) response.end()
  }

  /** As a network does. */
  cutWatches(): void {
    for (const { response } of this.#watches) response.destroy()
  }

  /** Puts raw text into every watch. */
  writeToWatches(text: string): void {
    for (const { response } of this.#watches) response.write(text)
  }

  bookmark(): void {
    for (const { response } of this.#watches)
      response.write(
        `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: this.state.version } } })}\n`,
      )
  }

  /** Continue tokens given so far are worth nothing. */
  expirePages(): void {
    this.#pages.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    for (const socket of this.#upgraded) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen = this.#see(request, await bodyOf(request))
    const plan = this.#planFor(seen)
    if (plan !== undefined) {
      this.#misbehave(plan, response)
      return
    }
    try {
      this.#answer(seen, response)
    } catch (error) {
      if (error instanceof FakeRefusal) refuse(response, error.status, error.reason, error.message)
      else refuse(response, 500, 'InternalError', String(error))
    }
  }

  #see(request: IncomingMessage, body: unknown): SeenRequest {
    const url = new URL(request.url ?? '/', 'http://fake')
    const seen = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body,
    }
    this.requests.push(seen)
    return seen
  }

  #planFor(seen: SeenRequest): Misbehaviour['answer'] | undefined {
    const plan = this.#plans.find((one) => one.left > 0 && (one.plan.when?.(seen) ?? true))
    if (plan !== undefined) plan.left -= 1
    return plan?.plan.answer
  }

  #upgrade(request: IncomingMessage, socket: Duplex): void {
    this.#upgraded.add(socket.on('close', () => this.#upgraded.delete(socket)).on('error', () => undefined))
    const seen = this.#see(request, undefined)
    const plan = this.#planFor(seen)
    if (plan === 'silence') return
    const { namespace, name, subresource } = targetOf(seen.path)
    const refusal = typeof plan === 'object' ? plan.status : subresource === 'portforward' ? undefined : 404
    if (plan === 'reset') socket.destroy()
    else if (refusal === undefined)
      answerPortForward(request, socket, this.forwards.get(`${namespace}/${name}:${seen.query.get('ports')}`))
    else
      socket.end(
        `HTTP/1.1 ${refusal} Refused\r\nConnection: close\r\n\r\n${JSON.stringify({ kind: 'Status', message: `${name}: told to misbehave`, code: refusal })}`,
      )
  }

  #misbehave(how: Misbehaviour['answer'], response: ServerResponse): void {
    if (how === 'silence') return
    if (how === 'reset') {
      response.destroy()
      return
    }
    if (how.retryAfterSeconds !== undefined) response.setHeader('retry-after', String(how.retryAfterSeconds))
    if (how.page !== undefined) response.writeHead(how.status, { 'content-type': 'text/html' }).end(how.page)
    else refuse(response, how.status, how.reason ?? '', 'told to misbehave')
  }

  #answer(seen: SeenRequest, response: ServerResponse): void {
    const target = targetOf(seen.path)
    if (target.name !== undefined) reply(response, this.#one(seen, { ...target, name: target.name }))
    else if (seen.method === 'POST') reply(response, this.#create(target, seen.body as StoredObject), 201)
    else if (seen.query.get('watch') === 'true') this.#watch(seen, target, response)
    else reply(response, this.#list(seen, target))
  }

  #one(seen: SeenRequest, where: Written): unknown {
    switch (seen.method) {
      case 'GET':
        return this.state.find(where)
      case 'PUT':
        return this.state.update(where, seen.body as StoredObject)
      case 'PATCH':
        return this.#patch(seen, where)
      case 'DELETE': {
        this.state.delete(
          where,
          (seen.body as { preconditions?: { uid?: string; resourceVersion?: string } } | undefined)?.preconditions,
        )
        return { kind: 'Status', apiVersion: 'v1', status: 'Success' }
      }
      default:
        throw new FakeRefusal(405, 'MethodNotAllowed', seen.method)
    }
  }

  #create({ kind, namespace }: Target, given: StoredObject): StoredObject {
    return this.state.create(kind, namespace, given)
  }

  #patch(seen: SeenRequest, where: Written): StoredObject {
    const type = seen.headers['content-type']
    if (type === 'application/json-patch+json')
      return this.state.jsonPatch(where, seen.body as readonly JsonPatchOperation[])
    if (type === 'application/merge-patch+json') return this.state.mergePatch(where, seen.body)
    if (type !== 'application/apply-patch+yaml') throw new FakeRefusal(415, 'UnsupportedMediaType', String(type))
    if (!seen.query.get('fieldManager'))
      throw new FakeRefusal(422, 'Invalid', 'fieldManager is required for apply patch')
    const exists = this.state
      .all(where.kind)
      .some(({ metadata }) => metadata.name === where.name && (metadata.namespace ?? '') === where.namespace)
    return exists
      ? this.state.mergePatch(where, seen.body)
      : this.state.create(where.kind, where.namespace, seen.body as StoredObject)
  }

  #list(seen: SeenRequest, target: Target): unknown {
    const token = seen.query.get('continue')
    const page =
      token === null
        ? { rest: this.state.all(target.kind).filter(selected(seen, target)), version: this.state.version }
        : this.#pages.get(token)
    if (page === undefined) throw new FakeRefusal(410, 'Expired', 'The provided continue parameter is too old')
    const limit = Number(seen.query.get('limit') ?? 0) || page.rest.length
    const rest = page.rest.slice(limit)
    const next = rest.length === 0 ? '' : `page-${++this.#tokens}`
    if (next !== '') this.#pages.set(next, { rest, version: page.version })
    // As the real one: objects in lists say neither kind nor apiVersion, and an empty list is null.
    const items = page.rest.slice(0, limit).map(({ kind: _kind, apiVersion: _apiVersion, ...object }) => object)
    return {
      kind: 'List',
      apiVersion: 'v1',
      metadata: { resourceVersion: page.version, ...(next === '' ? {} : { continue: next }) },
      items: items.length === 0 ? null : items,
    }
  }

  #watch(seen: SeenRequest, target: Target, response: ServerResponse): void {
    const isSelected = selected(seen, target)
    const matches = (event: StoredEvent): boolean => event.kind === target.kind && isSelected(event.object)
    const missed = this.state.eventsAfter(Number(seen.query.get('resourceVersion') ?? this.state.version))
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    if (missed === undefined) {
      response.end(
        `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' } })}\n`,
      )
      return
    }
    const watch = { response, matches, kind: target.kind }
    this.#watches.add(watch)
    const end = setTimeout(() => response.end(), Number(seen.query.get('timeoutSeconds') ?? 300) * 1_000)
    response.on('close', () => {
      clearTimeout(end)
      this.#watches.delete(watch)
    })
    for (const event of missed) this.#send(watch, event)
  }

  #tell(event: StoredEvent): void {
    for (const watch of this.#watches) this.#send(watch, event)
  }

  #send({ response, matches }: OpenWatch, event: StoredEvent): void {
    if (!this.deaf && matches(event)) response.write(`${JSON.stringify({ type: event.type, object: event.object })}\n`)
  }
}

/** `/apis/apps/v1/namespaces/prod/statefulsets/shop/status` in its parts. */
function targetOf(path: string): Target {
  const [root, ...rest] = path.split('/').slice(1).map(decodeURIComponent)
  const groupVersion = root === 'api' ? rest.splice(0, 1) : rest.splice(0, 2)
  const namespaced = rest[0] === 'namespaces' && rest.length > 2
  const namespace = namespaced ? (rest[1] ?? '') : ''
  const [plural, name, subresource] = namespaced ? rest.slice(2) : rest
  if (plural === undefined) throw new FakeRefusal(404, 'NotFound', path)
  return { kind: [...groupVersion, plural].join('/'), namespace, name, subresource, everywhere: !namespaced }
}

/** Equality selectors only. */
function selected(seen: SeenRequest, target: Target): (object: StoredObject) => boolean {
  const labels = (seen.query.get('labelSelector') ?? '')
    .split(',')
    .filter((term) => term !== '')
    .map((term) => term.split('='))
  const name = /^metadata\.name=(.+)$/.exec(seen.query.get('fieldSelector') ?? '')?.[1]
  return ({ metadata }) =>
    (target.everywhere || (metadata.namespace ?? '') === target.namespace) &&
    (name === undefined || metadata.name === name) &&
    labels.every(([label, value]) => metadata.labels?.[label ?? ''] === value)
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  return text === '' ? undefined : JSON.parse(text)
}

function reply(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

function refuse(response: ServerResponse, code: number, reason: string, message: string): void {
  reply(response, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }, code)
}
