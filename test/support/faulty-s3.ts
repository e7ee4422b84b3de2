import { createServer, request as requestTo, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { freePort } from './free-port.ts'

type Operation = 'create' | 'part' | 'complete' | 'abort' | 'uploads' | 'list' | 'bulk-delete' | 'put' | 'get' | 'head'

/** What the proxy knows of a request. */
export interface SeenRequest {
  readonly method: string
  /** With the bucket. */
  readonly path: string
  readonly operation: Operation
  /** 0 where the request is about no part. */
  readonly part: number
  readonly headers: IncomingMessage['headers']
}

/** What goes wrong with one request. */
export type S3Fault =
  /** The proxy answers in the place of the server, which never hears of the request. */
  | { readonly kind: 'answer'; readonly status: number; readonly code: string }
  /** With a tag the page is an answer about an object. */
  | { readonly kind: 'html'; readonly status: number; readonly tag?: string }
  /** Cut while the request comes, before the answer (the server has done its work), or in the middle of the answer. */
  | { readonly kind: 'cut'; readonly where: 'request' | 'before-answer' | 'answer' }
  /** Nothing is answered, or nothing after the middle of the answer. */
  | { readonly kind: 'stall'; readonly where: 'before-answer' | 'answer' }
  /** The answer comes in small pieces. */
  | { readonly kind: 'slow' }
  | { readonly kind: 'header'; readonly name: string; readonly value: string }
  /** A byte in the middle of the request's or the answer's body. */
  | { readonly kind: 'flip'; readonly where: 'request' | 'answer' }
  /** The answer does not say which bytes it has. */
  | { readonly kind: 'whole' }

export type Misfortune = (request: SeenRequest) => S3Fault | undefined | Promise<S3Fault | undefined>

/** A proxy on loopback before an S3 server, which does to requests what it is told. */
export class FaultyS3 {
  readonly port: number
  /** What came, in its order. */
  readonly seen: SeenRequest[] = []
  /** What the server answered, in its order. */
  readonly answered: SeenRequest[] = []
  /** The server behind; can be another one from the next request on. */
  upstreamPort: number
  /** Asked about each request. */
  misfortune: Misfortune = () => undefined
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(port: number, upstreamPort: number) {
    this.port = port
    this.upstreamPort = upstreamPort
    this.#server = createServer((request, response) => {
      this.#pass(request, response).catch(() => response.destroy())
    })
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  static async start(upstreamPort: number): Promise<FaultyS3> {
    const proxy = new FaultyS3(await freePort(), upstreamPort)
    await new Promise<void>((resolve) => proxy.#server.listen(proxy.port, '127.0.0.1', resolve))
    return proxy
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** The next `times` requests of which this is true have the fault. */
  next(fault: S3Fault, isMeant: (request: SeenRequest) => boolean = () => true, times = 1): void {
    let left = times
    this.misfortune = (request) => (isMeant(request) && left-- > 0 ? fault : undefined)
  }

  async end(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen = seenIn(request)
    this.seen.push(seen)
    const fault = (await this.misfortune(seen)) ?? none
    if (isCut(fault, 'request')) return cutWhileItComes(request)
    const body = await buffer(request)
    if (isInsteadOfServer(fault)) return insteadOfServer(response, fault)
    flipIf(isFlip(fault, 'request'), body)
    const answer = await this.#ask(request, body)
    this.answered.push(seen)
    if (isCut(fault, 'before-answer')) return void response.destroy()
    await give(response, answer, fault)
  }

  /** With the name of the host that the client signed. */
  #ask({ method, url, headers }: IncomingMessage, body: Buffer): Promise<Answer> {
    const options = { host: '127.0.0.1', port: this.upstreamPort, method, path: url, headers, agent: false }
    return new Promise((resolve, reject) => {
      const asking = requestTo(options, (answer) => {
        const { statusCode: status = 502, headers } = answer
        delete headers['connection']
        buffer(answer).then((body) => resolve({ status, headers, body }), reject)
      })
      asking.once('error', reject)
      asking.end(body)
    })
  }
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

type InsteadOfServer = Extract<S3Fault, { kind: 'answer' | 'html' | 'stall' }>

const none = { kind: 'none' } as const
type MaybeFault = S3Fault | typeof none

const isCut = (fault: MaybeFault, where: string) => fault.kind === 'cut' && fault.where === where
const isFlip = (fault: MaybeFault, where: string) => fault.kind === 'flip' && fault.where === where

function isInsteadOfServer(fault: MaybeFault): fault is InsteadOfServer {
  if (fault.kind === 'stall') return fault.where === 'before-answer'
  return fault.kind === 'answer' || fault.kind === 'html'
}

/** At its first bytes, or at its end where it has none. */
function cutWhileItComes(request: IncomingMessage): void {
  for (const event of ['data', 'end']) request.once(event, () => request.destroy())
}

function insteadOfServer(response: ServerResponse, fault: InsteadOfServer): void {
  if (fault.kind === 'stall') return
  if (fault.kind === 'html') {
    const headers = fault.tag === undefined ? {} : { etag: fault.tag }
    return void response.writeHead(fault.status, headers).end('<html><h1>Bad Gateway</h1></html>')
  }
  const xml = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${fault.code}</Code><Message>so it is</Message></Error>`
  response.writeHead(fault.status, { 'content-type': 'application/xml' }).end(xml)
}

function seenIn({ method = '', url = '', headers }: IncomingMessage): SeenRequest {
  const { pathname: path, searchParams } = new URL(url, 'http://s3')
  const part = Number(searchParams.get('partNumber'))
  return { method, path, operation: operationOf(method, searchParams), part, headers }
}

function operationOf(method: string, search: URLSearchParams): Operation {
  if (search.has('uploads')) return method === 'POST' ? 'create' : 'uploads'
  if (search.has('uploadId')) return method === 'PUT' ? 'part' : method === 'POST' ? 'complete' : 'abort'
  if (search.has('list-type')) return 'list'
  if (search.has('delete')) return 'bulk-delete'
  return method === 'PUT' ? 'put' : method === 'HEAD' ? 'head' : 'get'
}

function flipIf(isMeant: boolean, body: Buffer): void {
  const at = Math.floor(body.length / 2)
  if (isMeant && body.length > 0) body[at] = (body[at] ?? 0) ^ 1
}

async function give(response: ServerResponse, { status, headers, body }: Answer, fault: MaybeFault): Promise<void> {
  flipIf(isFlip(fault, 'answer'), body)
  response.writeHead(status, changedHeaders(headers, fault))
  if (fault.kind === 'slow') return slowly(response, body)
  if (fault.kind !== 'cut' && fault.kind !== 'stall') return void response.end(body)
  const half = body.subarray(0, Math.floor(body.length / 2))
  response.write(half, () => fault.kind === 'cut' && response.destroy())
}

function changedHeaders(headers: Answer['headers'], fault: MaybeFault): Answer['headers'] {
  if (fault.kind === 'header') return { ...headers, [fault.name]: fault.value }
  const { 'content-range': range, ...others } = headers
  return fault.kind === 'whole' ? others : headers
}

async function slowly(response: ServerResponse, body: Buffer): Promise<void> {
  const step = Math.ceil(body.length / 20)
  for (let at = 0; at < body.length; at += step) {
    response.write(body.subarray(at, at + step))
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  response.end()
}
