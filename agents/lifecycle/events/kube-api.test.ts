import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { selfSigned } from '#controller-runtime/testing-certificate.ts'
import { findServiceAccount, kubeEventStore } from './kube-api.ts'

interface Seen {
  readonly request: string
  readonly token: string | undefined
  readonly body: unknown
}

/** An API server that shows a certificate, and answers what the test wants. */
async function anApi(answers: readonly (readonly [number, unknown])[]) {
  const certificate = selfSigned('127.0.0.1')
  const folder = await mkdtemp(join(tmpdir(), 'lifecycle-'))
  const write = (name: string, text: string) => writeFile(join(folder, name), text)
  await Promise.all([write('token', 'first\n'), write('ca.crt', certificate.cert)])
  const seen: Seen[] = []
  const server = createServer(certificate, (request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      const [status, body] = answers[seen.length] ?? [500, {}]
      seen.push({
        request: `${request.method} ${request.url}`,
        token: request.headers.authorization,
        body: text === '' ? undefined : (JSON.parse(text) as unknown),
      })
      response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const store = kubeEventStore({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, folder })
  onTestFinished(async () => {
    store.close()
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true })
  })
  return { store, seen, write, authority: certificate.cert }
}

const event = { metadata: { name: 'a.1', namespace: 'shops' }, count: 1 }

it('Asks with the token that is in its file now, and over TLS with the authority of the pod', async () => {
  const { store, seen, write } = await anApi([
    [404, {}],
    [201, event],
    [200, event],
    [200, event],
  ])
  expect(await store.get('shops', 'a.1')).toBeUndefined()
  await store.create(event)
  await write('token', 'second')
  expect(await store.get('shops', 'a.1')).toEqual(event)
  await store.update({ ...event, count: 2 })
  expect(seen).toEqual([
    { request: 'GET /api/v1/namespaces/shops/events/a.1', token: 'Bearer first', body: undefined },
    { request: 'POST /api/v1/namespaces/shops/events', token: 'Bearer first', body: event },
    { request: 'GET /api/v1/namespaces/shops/events/a.1', token: 'Bearer second', body: undefined },
    { request: 'PUT /api/v1/namespaces/shops/events/a.1', token: 'Bearer second', body: { ...event, count: 2 } },
  ])
})

it('Trusts no server of another authority, and takes a new authority without a restart', async () => {
  const { store, write, authority } = await anApi([[404, {}]])
  await write('ca.crt', selfSigned('127.0.0.1').cert)
  await expect(store.get('shops', 'a')).rejects.toMatchObject({ code: 'REGENT_KUBE_UNREACHABLE' })
  await write('ca.crt', authority)
  expect(await store.get('shops', 'a')).toBeUndefined()
})

it('Tells in the server’s own words why it refused', async () => {
  const words = 'events is forbidden: User "x" cannot create resource "events"'
  const { store } = await anApi([
    [403, { kind: 'Status', message: words }],
    [502, '<html>'],
  ])
  await expect(store.create(event)).rejects.toMatchObject({
    code: 'REGENT_KUBE_API',
    message: `POST /api/v1/namespaces/shops/events: HTTP 403: ${words}`,
  })
  await expect(store.update(event)).rejects.toThrow('HTTP 502: <html>')
})

it('Names the file of the service account that is missing', async () => {
  const store = kubeEventStore({ host: '127.0.0.1', port: 1, folder: '/does/not/exist' })
  await expect(store.get('a', 'b')).rejects.toMatchObject({
    code: 'REGENT_KUBE_CONFIG',
    // Both files are read at once.
    message: expect.stringMatching(
      /^\/does\/not\/exist\/(token|ca\.crt) of the pod’s service account cannot be read$/,
    ) as string,
  })
})

it('Finds the API server where the environment of a pod says, and nowhere else', () => {
  expect(findServiceAccount({})).toBeUndefined()
  expect(findServiceAccount({ KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' })).toMatchObject({
    host: 'fd00::1',
    port: 443,
  })
})
