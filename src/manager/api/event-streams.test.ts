import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { freePort } from '#test/support/free-port.ts'
import { authorized, shop, testApi, type MemoryClusters } from './testing.ts'

let app: FastifyInstance
let clusters: MemoryClusters
let port: number
const open: ClientRequest[] = []

async function start(...how: Parameters<typeof testApi>): Promise<void> {
  ;({ app, clusters } = await testApi(...how))
  port = await freePort()
  await app.listen({ host: '127.0.0.1', port })
}

afterEach(async () => {
  for (const each of open.splice(0)) each.destroy()
  await app.close()
})

async function ask(path: string, method = 'GET', body?: string): Promise<IncomingMessage> {
  const outgoing = request({
    host: '127.0.0.1',
    port,
    path,
    method,
    headers: { ...authorized, 'content-type': 'application/json' },
    agent: false,
  })
  open.push(outgoing)
  outgoing.on('error', () => undefined)
  outgoing.end(body)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  return incoming
}

/** Everything a stream says until `enough` is in it; an ended stream ends it too. */
async function readUntil(incoming: IncomingMessage, enough: (text: string) => boolean): Promise<string> {
  let text = ''
  for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    text += chunk.toString()
    if (enough(text)) return text
  }
  return text
}

const events = '/api/v1/clusters/shop/events'
const states = (text: string): number => text.split('event: state\ndata: ').length - 1

describe('an event stream', () => {
  it('sends the state at once and every change after it', async () => {
    await start()
    const stream = await ask(events)
    expect(stream.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    expect(await readUntil(stream, (text) => states(text) === 1 && text.endsWith('\n\n'))).toContain(
      JSON.stringify(shop),
    )
    for (const listener of clusters.listeners) listener({ type: 'state', view: { ...shop, epoch: 5 } })
    expect(await readUntil(stream, (text) => text.endsWith('\n\n'))).toMatch(
      /^event: state\ndata: \{.*"epoch":5,.*\}\n\n$/,
    )
  })

  it('says that it lives while nothing happens', async () => {
    await start({ heartbeatMs: 10 })
    const text = await readUntil(await ask(events), (so) => so.includes(': heartbeat\n\n: heartbeat\n\n'))
    expect(text).toContain(': heartbeat')
  })

  it('is forgotten when its client goes away', async () => {
    await start()
    const stream = await ask(events)
    await readUntil(stream, (text) => states(text) === 1)
    expect(clusters.listeners.size).toBe(1)
    stream.destroy()
    await expect.poll(() => clusters.listeners.size).toBe(0)
  })

  it('is refused with the others’ number when there are too many', async () => {
    await start({ eventStreams: 1 })
    await readUntil(await ask(events), (text) => states(text) === 1)
    const second = await ask(events)
    expect(second.statusCode).toBe(429)
    expect(second.headers['retry-after']).toBe('5')
  })

  it('skips to the newest state for a client that reads slowly, instead of piling up', async () => {
    await start()
    const stream = await ask(events)
    await readUntil(stream, (text) => states(text) === 1)
    const large = { ...shop, sentence: 'x'.repeat(100_000) }
    const sent = 500
    for (let epoch = 1; epoch <= sent; epoch++)
      for (const listener of clusters.listeners) listener({ type: 'state', view: { ...large, epoch } })
    const rest = await readUntil(stream, (text) => text.includes(`"epoch":${sent},`))
    expect(rest).toContain(`"epoch":${sent},`)
    expect(states(rest)).toBeLessThan(sent / 2)
  })
})

describe('a client that reads nothing of its stream', () => {
  it('gives its place to another one, and hears anew what is so once it asks again', async () => {
    await start({ eventStreams: 1, heartbeatMs: 10 })
    // A response that is not read lets the connection fill up.
    await ask(events)
    const large = { ...shop, sentence: 'x'.repeat(8_000_000) }
    for (const listener of clusters.listeners) listener({ type: 'state', view: large })
    await expect.poll(() => clusters.listeners.size).toBe(0)
    expect((await ask(events)).statusCode).toBe(200)
  })
})

describe('stopping', () => {
  it('ends event streams, lets what is under way finish, and takes nothing new', async () => {
    await start()
    const stream = await ask(events)
    await readUntil(stream, (text) => states(text) === 1)
    let finish = (): void => undefined
    clusters.answer = () =>
      new Promise((resolve) => (finish = () => resolve({ done: true, dryRun: false, sentence: 'switched over' })))
    const underWay = ask('/api/v1/clusters/shop/switchover', 'POST', '{}')
    await expect.poll(() => clusters.asked.length).toBe(1)

    let closed = false
    const closing = app.close().then(() => (closed = true))
    await readUntil(stream, () => false)
    expect(stream.complete).toBe(true)
    await expect(ask('/api/v1/clusters')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    expect(closed).toBe(false)
    finish()
    expect(await readUntil(await underWay, () => false)).toContain('switched over')
    await closing
  })

  it.each([
    [
      'refuses a request that began before, telling when to come again',
      '/api/v1/clusters',
      /^HTTP\/1\.1 503 .*retry-after: 1\r\n.*REGENT_SHUTTING_DOWN/is,
    ],
    ['is not ready', '/readyz', /^HTTP\/1\.1 503 /],
    ['still answers that it is alive', '/healthz', /^HTTP\/1\.1 200 .*"alive":true/s],
  ])('%s', async (_, path, says) => {
    await start()
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => (text += chunk.toString()))
    const [atServer] = (await once(app.server, 'connection')) as [Socket]
    // A connection on which a request has begun is not idle, so it outlives the listener.
    socket.write('G')
    await expect.poll(() => atServer.bytesRead).toBe(1)
    const closing = app.close()
    socket.write(`ET ${path} HTTP/1.1\r\nHost: m\r\nAuthorization: ${authorized.authorization}\r\n\r\n`)
    await expect.poll(() => text).toMatch(says)
    socket.destroy()
    await closing
  })

  it('does not wait for ever', async () => {
    await start({ shutdownMs: 50 })
    clusters.answer = () => new Promise(() => undefined)
    const underWay = ask('/api/v1/clusters/shop/resume', 'POST', '{}').catch((error: unknown) => error)
    await expect.poll(() => clusters.asked.length).toBe(1)
    await app.close()
    expect(await underWay).toMatchObject({ code: 'ECONNRESET' })
  })
})

describe('what is no HTTP', () => {
  it('is answered with a problem and closed', async () => {
    await start()
    const socket = connect(port, '127.0.0.1')
    socket.end('this is no HTTP\r\n\r\n')
    let text = ''
    for await (const chunk of socket as AsyncIterable<Buffer>) text += chunk.toString()
    expect(text).toMatch(/^HTTP\/1\.1 400 .*application\/problem\+json.*"code":"REGENT_BAD_REQUEST"/s)
  })
})

describe('Whoever has the token of a cluster’s agents', () => {
  const watcherOf = (cluster: string) => (cluster === 'shop' ? 'agents-token-0123456789' : undefined)
  const asked = async (path: string, token = 'agents-token-0123456789', method = 'GET') => {
    await start({}, { watcherOf })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
    open.push(outgoing)
    outgoing.on('error', () => undefined)
    outgoing.end(method === 'POST' ? '{}' : undefined)
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    return incoming.statusCode
  }

  it('may watch that cluster', async () => {
    expect(await asked(events)).toBe(200)
  })

  it.each<readonly [string, readonly [string, string?, string?]]>([
    ['another cluster', ['/api/v1/clusters/mall/events']],
    ['the cluster itself', ['/api/v1/clusters/shop']],
    ['all clusters', ['/api/v1/clusters']],
    ['a switchover', ['/api/v1/clusters/shop/switchover', 'agents-token-0123456789', 'POST']],
    ['the same with another token', [events, 'agents-token-other']],
  ])('is refused %s', async (_, what) => {
    expect(await asked(...what)).toBe(401)
  })
})

it('A stream ends where its cluster is gone: who watches asks anew, and meets the cluster that took its place', async () => {
  await start()
  const stream = await ask(events)
  stream.resume()
  const ended = once(stream, 'end')
  await expect.poll(() => clusters.listeners.size).toBe(1)
  for (const tell of clusters.listeners) tell({ type: 'gone' })
  await ended
  await expect.poll(() => clusters.listeners.size).toBe(0)
})
