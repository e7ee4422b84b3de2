import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createServer as createTlsServer } from 'node:tls'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { findKubeConnection, type KubeConnection } from '../kube-config/kube-config.ts'
import { openPortForward } from './port-forward.ts'
import { FakeApiServer } from '../testing-api-server.ts'
import { selfSigned } from '../testing-certificate.ts'

const target = { namespace: 'prod', pod: 'web-0', port: 9500 }
const apiName = 'api.cluster.test'

async function listening(server: Server): Promise<number> {
  const open = new Set<Duplex>()
  server.on('connection', (socket: Duplex) => open.add(socket.on('error', () => undefined)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** An API server behind TLS whose certificate is for `name`, and a pod that says "hello". */
async function apiServer(
  name: string,
): Promise<{ readonly api: FakeApiServer; readonly port: number; readonly ca: string }> {
  const api = await FakeApiServer.start()
  onTestFinished(() => api[Symbol.asyncDispose]())
  api.forwards.set('prod/web-0:9500', await listening(createTcpServer((socket) => socket.end('hello'))))
  const { cert, key } = selfSigned(name)
  const behind = Number(new URL(api.connection.server).port)
  const port = await listening(
    createTlsServer({ cert, key }, (outer) => {
      const inner = connect(behind, '127.0.0.1')
      outer.on('error', () => inner.destroy()).pipe(inner)
      inner.on('error', () => outer.destroy()).pipe(outer)
    }),
  )
  return { api, port, ca: cert }
}

interface Proxy {
  readonly url: string
  /** What it was asked to connect to, and with which login. */
  readonly asked: { readonly authority: string; readonly login: string | undefined }[]
}

/** Joins every CONNECT to a port of loopback, whatever it names, or answers as told. */
async function proxyTo(
  port: number,
  answer: { readonly status: number } | 'silence' | 'reset' | 'join' = 'join',
): Promise<Proxy> {
  const asked: Proxy['asked'] = []
  const server = createServer()
  server.on('connect', ({ url = '', headers }: IncomingMessage, client: Duplex) => {
    asked.push({ authority: url, login: headers['proxy-authorization'] })
    client.on('error', () => undefined)
    if (answer === 'silence') return
    if (answer === 'reset') return void client.destroy()
    if (answer !== 'join') return void client.end(`HTTP/1.1 ${answer.status} No\r\ncontent-length: 0\r\n\r\n`)
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(upstream).pipe(client)
    })
    upstream.on('error', () => client.destroy())
    client.on('close', () => upstream.destroy())
  })
  return { url: `http://127.0.0.1:${await listening(server)}`, asked }
}

function through(proxy: string, server: string, ca: string): KubeConnection {
  return {
    server,
    namespace: 'default',
    proxyUrl: proxy,
    credentials: async () => ({ headers: { authorization: 'Bearer test' }, tls: { ca } }),
  }
}

const open = async (connection: KubeConnection, deadlineMs = 5_000): Promise<Duplex> => {
  const stream = await openPortForward(connection, target, AbortSignal.timeout(deadlineMs))
  onTestFinished(() => void stream.destroy())
  return stream
}

test('a port-forward goes through the proxy, with its login, and the certificate is of the API server’s name', async () => {
  const { api, port, ca } = await apiServer(apiName)
  const proxy = await proxyTo(port)
  const stream = await open(
    through(proxy.url.replace('http://', 'http://user:pass%20word@'), `https://${apiName}:6443`, ca),
  )
  expect(await text(stream)).toBe('hello')
  expect(proxy.asked).toEqual([
    { authority: `${apiName}:6443`, login: `Basic ${Buffer.from('user:pass word').toString('base64')}` },
  ])
  expect(api.requests).toMatchObject([
    { path: '/api/v1/namespaces/prod/pods/web-0/portforward', headers: { authorization: 'Bearer test' } },
  ])
})

test('a certificate of another name is refused within the tunnel too', async () => {
  const { port, ca } = await apiServer('other.test')
  const proxy = await proxyTo(port)
  await expect(open(through(proxy.url, `https://${apiName}:6443`, ca))).rejects.toMatchObject({
    code: 'REGENT_KUBE_UNREACHABLE',
    message: expect.stringContaining(apiName) as string,
  })
})

test('an API server that is an address is reached without a warning, and its certificate is compared with the address', async () => {
  const warned: string[] = []
  const hear = (warning: Error): void => void warned.push(warning.message)
  process.on('warning', hear)
  onTestFinished(() => void process.off('warning', hear))
  const { port, ca } = await apiServer('192.0.2.7')
  const proxy = await proxyTo(port)
  expect(await text(await open(through(proxy.url, 'https://192.0.2.7:6443', ca)))).toBe('hello')
  await expect(open(through(proxy.url, 'https://192.0.2.8:6443', ca))).rejects.toMatchObject({
    code: 'REGENT_KUBE_UNREACHABLE',
    message: expect.stringContaining('192.0.2.8') as string,
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(warned).toEqual([])
})

test.each([407, 503])('a proxy that answers %i is named, with what it was asked for', async (status) => {
  const proxy = await proxyTo(0, { status })
  const { host } = new URL(proxy.url)
  await expect(open(through(proxy.url, `https://${apiName}:6443`, ''))).rejects.toMatchObject({
    code: 'REGENT_KUBE_UNREACHABLE',
    message: `API server https://${apiName}:6443 (GET /api/v1/namespaces/prod/pods/web-0/portforward): the proxy ${host} answered HTTP ${status} to CONNECT ${apiName}:6443`,
  })
})

test('a proxy that hangs up, or is not there, is named', async () => {
  for (const proxy of [(await proxyTo(0, 'reset')).url, 'http://127.0.0.1:1']) {
    await expect(open(through(proxy, `https://${apiName}:6443`, ''))).rejects.toMatchObject({
      code: 'REGENT_KUBE_UNREACHABLE',
      message: expect.stringContaining(`the proxy ${new URL(proxy).host}: `) as string,
    })
  }
})

test('a proxy that never answers, or whose tunnel leads into silence, ends by the deadline', async () => {
  const silent = await proxyTo(0, 'silence')
  await expect(open(through(silent.url, `https://${apiName}:6443`, ''), 200)).rejects.toMatchObject({
    name: 'TimeoutError',
  })
  const nobody = await listening(createTcpServer(() => undefined))
  await expect(open(through((await proxyTo(nobody)).url, `https://${apiName}:6443`, ''), 200)).rejects.toMatchObject({
    name: 'TimeoutError',
  })
})

test('a password of the proxy is in no message', async () => {
  const proxy = await proxyTo(0, { status: 407 })
  const refused = await open(
    through(proxy.url.replace('http://', 'http://user:secret@'), `https://${apiName}:6443`, ''),
  ).then(
    () => '',
    (error: Error) => error.message,
  )
  expect(refused).toContain('407')
  expect(refused).not.toContain('secret')
})

test('a kubeconfig without a proxy takes the environment’s, unless NO_PROXY spares the server; its own comes first', async () => {
  const { port, ca } = await apiServer(apiName)
  const proxy = await proxyTo(port)
  const folder = await mkdtemp(join(tmpdir(), 'regent-proxy-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const found = async (env: NodeJS.ProcessEnv, proxyUrl?: string): Promise<KubeConnection> => {
    const path = join(folder, 'kubeconfig')
    const cluster = {
      server: `https://${apiName}:6443`,
      'certificate-authority-data': Buffer.from(ca).toString('base64'),
      ...(proxyUrl === undefined ? {} : { 'proxy-url': proxyUrl }),
    }
    await writeFile(
      path,
      stringify({
        clusters: [{ name: 'c', cluster }],
        users: [{ name: 'u', user: { token: 'test' } }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'x',
      }),
    )
    return findKubeConnection({ clock: virtualWorld().clock, kubeconfig: path, env, home: folder })
  }
  expect(await text(await open(await found({ HTTPS_PROXY: proxy.url })))).toBe('hello')
  expect(proxy.asked).toHaveLength(1)
  expect((await found({ HTTPS_PROXY: proxy.url, NO_PROXY: '.test' })).proxyUrl).toBeUndefined()
  await expect(open(await found({ HTTPS_PROXY: proxy.url, NO_PROXY: 'cluster.test' }))).rejects.toMatchObject({
    code: 'REGENT_KUBE_UNREACHABLE',
  })
  expect(proxy.asked).toHaveLength(1)
  expect((await found({ HTTPS_PROXY: 'http://elsewhere:1', NO_PROXY: '*' }, proxy.url)).proxyUrl).toBe(proxy.url)
})

test('the stream ends when the API server cuts the tunnel', async () => {
  const { api, port, ca } = await apiServer(apiName)
  const pod = createTcpServer((socket) => socket.resume())
  api.forwards.set('prod/web-0:9500', await listening(pod))
  const stream = await open(through((await proxyTo(port)).url, `https://${apiName}:6443`, ca))
  const ended = once(stream.on('error', () => undefined).resume(), 'end')
  await api[Symbol.asyncDispose]()
  await ended
})
