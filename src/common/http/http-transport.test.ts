import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { RegentError } from '../errors/errors.ts'
import { withParts } from '../sentence/sentence-wire.ts'
import { say } from '../sentence/sentence.ts'
import { createHttpTransport, type HttpTransport } from './http-transport.ts'
import { problemOf } from './problem.ts'
import { expectBelow } from '#test/support/expect-below.ts'
import { freePort } from '#test/support/free-port.ts'
import { patienceMs } from '#test/support/patience.ts'

let server: Server | undefined
let transport: HttpTransport | undefined

async function agentThat(answers: RequestListener): Promise<{ address: string; server: Server }> {
  const made = createServer(answers)
  server = made
  const port = await freePort()
  await new Promise<void>((resolve) => made.listen(port, '127.0.0.1', resolve))
  return { address: `127.0.0.1:${(made.address() as AddressInfo).port}`, server: made }
}

function connect(options: { maxAnswerBytes?: number } = {}): HttpTransport {
  transport = createHttpTransport({ token: 'the-token', ...options })
  return transport
}

afterEach(() => {
  transport?.close()
  server?.closeAllConnections()
  server?.close()
})

describe('the HTTP transport', () => {
  it('posts JSON with the bearer token and gives the parsed answer', async () => {
    const { address } = await agentThat((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () =>
        response.end(
          JSON.stringify({
            path: request.url,
            token: request.headers.authorization,
            body: JSON.parse(Buffer.concat(chunks).toString()) as unknown,
          }),
        ),
      )
    })
    const answer = await connect().post(address, '/v1/promise', { epoch: 4 }, patienceMs)
    expect(answer).toEqual({ path: '/v1/promise', token: 'Bearer the-token', body: { epoch: 4 } })
  })

  it('uses one connection for requests that follow each other', async () => {
    const { address, server: agent } = await agentThat((_, response) => response.end('{}'))
    let connections = 0
    agent.on('connection', () => connections++)
    const client = connect()
    await client.post(address, '/', {}, patienceMs)
    await client.post(address, '/', {}, patienceMs)
    expect(connections).toBe(1)
  })

  it('sends again when the agent closed the kept connection under it', async () => {
    const sockets: Socket[] = []
    let requests = 0
    const { address, server: agent } = await agentThat((request, response) => {
      requests++
      if (requests === 2) request.socket.resetAndDestroy()
      else response.end('{"fine":true}')
    })
    agent.on('connection', (socket) => sockets.push(socket))
    const client = connect()
    await client.post(address, '/', {}, patienceMs)
    await expect(client.post(address, '/', {}, patienceMs)).resolves.toEqual({ fine: true })
    expect(sockets).toHaveLength(2)
  })

  it('says REGENT_AGENT_UNREACHABLE with the address when nobody listens', async () => {
    const address = `127.0.0.1:${await freePort()}`
    await expect(connect().post(address, '/v1/assign', {}, patienceMs)).rejects.toMatchObject({
      code: 'REGENT_AGENT_UNREACHABLE',
      message: expect.stringContaining(`${address} (/v1/assign)`) as string,
    })
  })

  it('gives up at the deadline, whether the headers or the rest of the body are missing', async () => {
    const { address } = await agentThat((request, response) => {
      if (request.url === '/half') response.write('{"a":')
    })
    const client = connect()
    for (const path of ['/nothing', '/half']) {
      const began = process.hrtime.bigint()
      await expect(client.post(address, path, {}, 80)).rejects.toMatchObject({
        code: 'REGENT_AGENT_UNREACHABLE',
        message: expect.stringContaining('did not answer within 80 ms') as string,
      })
      expectBelow(1_000, Number(process.hrtime.bigint() - began) / 1e6)
    }
  })

  it.each([0.25, -3])('takes the rest of a deadline as it was computed: %d ms', async (rest) => {
    const { address } = await agentThat(() => undefined)
    await expect(connect().post(address, '/', {}, rest)).rejects.toMatchObject({ code: 'REGENT_AGENT_UNREACHABLE' })
  })

  it('keeps the code and words of an agent that refuses', async () => {
    const { address } = await agentThat((_, response) => {
      response.writeHead(409, { 'content-type': 'application/problem+json' })
      response.end(JSON.stringify({ code: 'REGENT_STALE_ORDER', detail: 'revision 7 is older than 9' }))
    })
    await expect(connect().post(address, '/', {}, patienceMs)).rejects.toMatchObject({
      code: 'REGENT_STALE_ORDER',
      message: `agent ${address}: revision 7 is older than 9`,
    })
  })

  it('keeps the parts of those words, so that a figure is no news', async () => {
    const { address } = await agentThat((_, response) => {
      const refusal = new RegentError(
        'REGENT_STALE_ORDER',
        say`promise of revision ${7}: shop-1@b1 acted on revision ${9}`,
      )
      response.writeHead(409).end(withParts(problemOf(refusal, '/')))
    })
    const error: unknown = await connect()
      .post(address, '/', {}, patienceMs)
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ message: `agent ${address}: promise of revision 7: shop-1@b1 acted on revision 9` })
    expect((error as RegentError).said.key).toBe(
      'agent ‹name›: promise of revision ‹number›: shop-1@b1 acted on revision ‹number›',
    )
  })

  it.each([
    ['an answer that is no JSON', 200, 'pardon?'],
    ['an error of somebody else', 502, '{"code":"toString"}'],
    ['an empty answer', 200, ''],
    ['an answer past the limit', 200, JSON.stringify('x'.repeat(2_000))],
  ])('does not believe %s', async (_, status, text) => {
    const { address } = await agentThat((_request, response) => response.writeHead(status).end(text))
    await expect(connect({ maxAnswerBytes: 1_000 }).post(address, '/', {}, patienceMs)).rejects.toMatchObject({
      code: 'REGENT_AGENT_UNREACHABLE',
    })
  })

  it.each(['nowhere', ':9400', 'host:', 'host:99999', 'host:x'])('refuses the address "%s"', async (address) => {
    await expect(connect().post(address, '/', {}, patienceMs)).rejects.toMatchObject({
      code: 'REGENT_BAD_REQUEST',
      message: expect.stringContaining(address) as string,
    })
  })
})
