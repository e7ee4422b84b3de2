import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { KubeConnection } from '../kube-config/kube-config.ts'
import { openPortForward } from './port-forward.ts'
import { FakeApiServer } from '../testing-api-server.ts'

const target = { namespace: 'prod', pod: 'web-0', port: 9500 }

async function apiServer(): Promise<FakeApiServer> {
  const api = await FakeApiServer.start()
  onTestFinished(() => api[Symbol.asyncDispose]())
  return api
}

async function listening(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => serve(socket.on('error', () => undefined)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** A connection through a fake API server to what `serve` does in the pod. */
async function forwardedTo(serve: (socket: Socket) => void): Promise<Duplex> {
  const api = await apiServer()
  api.forwards.set('prod/web-0:9500', await listening(serve))
  const stream = await openPortForward(api.connection, target, AbortSignal.timeout(5_000))
  onTestFinished(() => void stream.destroy())
  return stream
}

test('bytes go to the pod’s port and come back, whatever their number, and the stream ends when the pod ends it', async () => {
  const sent = Buffer.alloc(3_000_000, 'regent ')
  const stream = await forwardedTo((socket) => {
    let size = 0
    socket.on('data', (chunk: Buffer) => {
      socket.write(chunk)
      if ((size += chunk.length) === sent.length) socket.end('.')
    })
  })
  stream.write(sent)
  expect(await text(stream)).toBe(`${sent.toString()}.`)
})

test('who does not read makes the pod wait instead of filling the memory', async () => {
  let sent = 0
  const stream = await forwardedTo((socket) => {
    const fill = (): void => {
      while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) sent += 65_536
    }
    socket.on('drain', fill)
    fill()
  })
  let before = -1
  while (sent > before) {
    before = sent
    await sleep(300)
  }
  expect(stream.readableLength).toBeLessThan(1_000_000)
  stream.resume()
  await expect.poll(() => sent).toBeGreaterThan(before + 1_000_000)
})

test('the pod’s side is closed when the stream is ended or destroyed', async () => {
  for (const end of ['end', 'destroy'] as const) {
    const closed = Promise.withResolvers<void>()
    const stream = await forwardedTo((socket) => socket.on('close', () => closed.resolve()).resume())
    stream[end]()
    await closed.promise
  }
})

test('the request is a WebSocket of the kubelet’s own subprotocol, signed', async () => {
  const api = await apiServer()
  api.forwards.set('prod/web-0:9500', await listening((socket) => socket.end()))
  ;(await openPortForward(api.connection, target, AbortSignal.timeout(5_000))).destroy()
  expect(api.requests).toMatchObject([
    {
      method: 'GET',
      path: '/api/v1/namespaces/prod/pods/web-0/portforward',
      headers: { authorization: 'Bearer test', 'sec-websocket-protocol': 'v4.channel.k8s.io' },
    },
  ])
})

test('a port where nothing listens fails with the kubelet’s words', async () => {
  const api = await apiServer()
  const stream = await openPortForward(api.connection, target, AbortSignal.timeout(5_000))
  const [error] = (await once(stream, 'error').catch((failure: unknown) => [failure])) as [Error]
  expect(error).toMatchObject({
    code: 'REGENT_KUBE_API',
    message: 'port 9500 of pod prod/web-0: error forwarding port: connection refused',
  })
})

test('a refusal says what the API server said, and refused credentials are asked for anew once', async () => {
  const api = await apiServer()
  api.misbehave({ answer: { status: 403 }, times: 1 })
  await expect(openPortForward(api.connection, target, AbortSignal.timeout(5_000))).rejects.toMatchObject({
    status: 403,
    reason: 'Forbidden',
    message: expect.stringContaining('told to misbehave') as string,
  })
  const asked: boolean[] = []
  const connection: KubeConnection = {
    ...api.connection,
    server: api.connection.server,
    credentials: async (fresh = false) => (asked.push(fresh), { headers: {}, tls: {} }),
  }
  api.misbehave({ answer: { status: 401 }, times: 2 })
  await expect(openPortForward(connection, target, AbortSignal.timeout(5_000))).rejects.toMatchObject({ status: 401 })
  expect(asked).toEqual([false, true])
})

test('an API server that is silent, cuts the connection or is not there ends in an error, not in waiting', async () => {
  const api = await apiServer()
  api.misbehave({ answer: 'silence' })
  await expect(openPortForward(api.connection, target, AbortSignal.timeout(100))).rejects.toMatchObject({
    name: 'TimeoutError',
  })
  api.misbehave({ answer: 'reset' })
  await expect(openPortForward(api.connection, target, AbortSignal.timeout(5_000))).rejects.toMatchObject({
    code: 'REGENT_KUBE_UNREACHABLE',
  })
  const nobody = { ...api.connection, server: 'http://127.0.0.1:1' }
  await expect(openPortForward(nobody, target, AbortSignal.timeout(5_000))).rejects.toMatchObject({
    code: 'REGENT_KUBE_UNREACHABLE',
  })
})
