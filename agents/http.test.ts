import { once } from 'node:events'
import { request, type RequestOptions } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Problem } from '#common/http/problem.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { createAgentServer } from './http.ts'

const token = 'the-token'
const bearer = `Bearer ${token}`
const mebibyte = 1024 * 1024

/** An agent that obeys promises and nothing else, over plain HTTP. */
async function anAgent() {
  const obey = vi.fn(async (body: unknown) => ({ heard: body }))
  const subscribe = vi.fn(() => () => undefined)
  const handlers = {
    observation: () => ({ version: 1, instance: 'shop-0' }) as Observation,
    subscribe,
    orders: new Map([['/v1/promise', obey]]),
    isLive: () => true,
    isReady: () => false,
    metrics: () => 'regent_up 1\n',
  }
  const server = createAgentServer(handlers, { token })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { obey, subscribe, port: (server.address() as AddressInfo).port }
}

interface Asked extends RequestOptions {
  readonly authorization?: string
  readonly body?: Uint8Array | string
}

interface Answer {
  readonly status: number | undefined
  readonly type: string | undefined
  readonly text: string
}

function ask(
  port: number,
  path: string,
  { authorization = bearer, body = '', ...options }: Asked = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path,
        method: 'POST',
        agent: false,
        headers: authorization === '' ? {} : { authorization },
        ...options,
      },
      (incoming) => {
        let text = ''
        incoming
          .setEncoding('utf8')
          .on('error', reject)
          .on('data', (part: string) => (text += part))
          .on('end', () => resolve({ status: incoming.statusCode, type: incoming.headers['content-type'], text }))
      },
    )
    outgoing.on('error', reject).end(body)
  })
}

type Refusal = Pick<Problem, 'status' | 'code' | 'detail'>
const problemIn = ({ text }: Answer): Problem => JSON.parse(text) as Problem

describe('an agent', () => {
  it('obeys who shows the token and sends JSON, and answers in JSON', async () => {
    const { obey, port } = await anAgent()
    expect(await ask(port, '/v1/promise?now', { body: '{"epoch":4,"after":"é"}' })).toEqual({
      status: 200,
      type: 'application/json',
      text: '{"heard":{"epoch":4,"after":"é"}}',
    })
    expect(await ask(port, '/v1/promise', { authorization: `bearer  ${token} `, body: 'null' })).toMatchObject({
      status: 200,
      text: '{"heard":null}',
    })
    expect(obey.mock.calls).toEqual([[{ epoch: 4, after: 'é' }], [null]])
  })

  it.each<readonly [string, string, Asked, Refusal]>([
    [
      'no token',
      '/v1/promise',
      { authorization: '', body: '{}' },
      { status: 401, code: 'REGENT_UNAUTHORIZED', detail: 'POST /v1/promise needs a valid bearer token' },
    ],
    [
      'another token',
      '/v1/promise',
      { authorization: 'Bearer the-tokem', body: '{}' },
      { status: 401, code: 'REGENT_UNAUTHORIZED', detail: 'POST /v1/promise needs a valid bearer token' },
    ],
    [
      'the beginning of the token',
      '/v1/promise',
      { authorization: 'Bearer the', body: '{}' },
      { status: 401, code: 'REGENT_UNAUTHORIZED', detail: 'POST /v1/promise needs a valid bearer token' },
    ],
    [
      'an empty token',
      '/v1/promise',
      { authorization: 'Bearer ', body: '{}' },
      { status: 401, code: 'REGENT_UNAUTHORIZED', detail: 'POST /v1/promise needs a valid bearer token' },
    ],
    [
      'the token in another scheme',
      '/v1/promise',
      { authorization: `Basic ${token}`, body: '{}' },
      { status: 401, code: 'REGENT_UNAUTHORIZED', detail: 'POST /v1/promise needs a valid bearer token' },
    ],
    [
      'no token and a path that is not there',
      '/v1/nothing',
      { authorization: '', body: '{}' },
      { status: 401, code: 'REGENT_UNAUTHORIZED', detail: 'POST /v1/nothing needs a valid bearer token' },
    ],
    [
      'no token for its metrics',
      '/metrics',
      { authorization: '', method: 'GET' },
      { status: 401, code: 'REGENT_UNAUTHORIZED', detail: 'GET /metrics needs a valid bearer token' },
    ],
    [
      'no token for its observations',
      '/v1/observations',
      { authorization: '', method: 'GET' },
      { status: 401, code: 'REGENT_UNAUTHORIZED', detail: 'GET /v1/observations needs a valid bearer token' },
    ],
    [
      'an order that it does not know',
      '/v1/nothing',
      { body: '{}' },
      {
        status: 404,
        code: 'REGENT_NOT_FOUND',
        detail: 'there is no POST /v1/nothing; orders are POSTed to /v1/promise',
      },
    ],
    [
      'an order with a path below it',
      '/v1/promise/',
      { body: '{}' },
      {
        status: 404,
        code: 'REGENT_NOT_FOUND',
        detail: 'there is no POST /v1/promise/; orders are POSTed to /v1/promise',
      },
    ],
    [
      'an order that is put',
      '/v1/promise',
      { method: 'PUT', body: '{}' },
      {
        status: 404,
        code: 'REGENT_NOT_FOUND',
        detail: 'there is no PUT /v1/promise; orders are POSTed to /v1/promise',
      },
    ],
    [
      'an order that is deleted',
      '/v1/promise',
      { method: 'DELETE' },
      {
        status: 404,
        code: 'REGENT_NOT_FOUND',
        detail: 'there is no DELETE /v1/promise; orders are POSTed to /v1/promise',
      },
    ],
    [
      'an order that is asked for',
      '/v1/promise',
      { method: 'GET' },
      {
        status: 404,
        code: 'REGENT_NOT_FOUND',
        detail: 'there is no GET /v1/promise; there are /v1/observations, /metrics, /live and /ready',
      },
    ],
    [
      'observations that are posted',
      '/v1/observations',
      { body: '{}' },
      {
        status: 404,
        code: 'REGENT_NOT_FOUND',
        detail: 'there is no POST /v1/observations; orders are POSTed to /v1/promise',
      },
    ],
    [
      'nothing',
      '/v1/promise',
      {},
      { status: 400, code: 'REGENT_BAD_REQUEST', detail: 'the body is not JSON in UTF-8: ' },
    ],
    [
      'no JSON',
      '/v1/promise',
      { body: 'epoch=4' },
      { status: 400, code: 'REGENT_BAD_REQUEST', detail: 'the body is not JSON in UTF-8: ' },
    ],
    [
      'half of a JSON',
      '/v1/promise',
      { body: '{"epoch":4' },
      { status: 400, code: 'REGENT_BAD_REQUEST', detail: 'the body is not JSON in UTF-8: ' },
    ],
    [
      'JSON in Latin-1',
      '/v1/promise',
      { body: Buffer.from('{"after":"é"}', 'latin1') },
      { status: 400, code: 'REGENT_BAD_REQUEST', detail: 'the body is not JSON in UTF-8: ' },
    ],
    [
      'lists in each other without end',
      '/v1/promise',
      { body: `${'['.repeat(200_000)}${']'.repeat(200_000)}` },
      { status: 400, code: 'REGENT_BAD_REQUEST', detail: 'the body is nested too deeply: more than 64 levels' },
    ],
    [
      'mappings in each other',
      '/v1/promise',
      { body: `${'{"a":'.repeat(65)}1${'}'.repeat(65)}` },
      { status: 400, code: 'REGENT_BAD_REQUEST', detail: 'the body is nested too deeply: more than 64 levels' },
    ],
    [
      'a character cut in half',
      '/v1/promise',
      { body: Buffer.from('"é"').subarray(0, 2) },
      { status: 400, code: 'REGENT_BAD_REQUEST', detail: 'the body is not JSON in UTF-8: ' },
    ],
  ])('that gets %s obeys nothing, and says why', async (_, path, asked, { status, code, detail }) => {
    const { obey, subscribe, port } = await anAgent()
    const answer = await ask(port, path, asked)
    expect(answer).toMatchObject({ status, type: 'application/problem+json; charset=utf-8' })
    expect(problemIn(answer)).toMatchObject({
      status,
      code,
      instance: path,
      detail: expect.stringContaining(String(detail)) as string,
    })
    expect(answer.text).not.toContain(token)
    expect(obey).not.toHaveBeenCalled()
    expect(subscribe).not.toHaveBeenCalled()
  })

  it.each([
    ['?follower=router', 'router'],
    ['?follower=manager', 'manager'],
    ['?follower=nobody', 'manager'],
    ['', 'manager'],
  ])('followed at /v1/observations%s is followed by a %s', async (query, follower) => {
    const { subscribe, port } = await anAgent()
    const outgoing = request({ port, path: `/v1/observations${query}`, headers: { authorization: bearer } }).end()
    await once(outgoing, 'response')
    outgoing.destroy()
    expect(subscribe).toHaveBeenCalledExactlyOnceWith(expect.any(Function), follower)
  })

  it('takes a body of 32 MiB', async () => {
    const { obey, port } = await anAgent()
    obey.mockResolvedValueOnce({ heard: 'all of it' })
    const text = 'a'.repeat(32 * mebibyte - 2)
    expect(await ask(port, '/v1/promise', { body: `"${text}"` })).toMatchObject({
      status: 200,
      text: '{"heard":"all of it"}',
    })
    expect(obey.mock.calls.map(([body]) => String(body).length)).toEqual([text.length])
  })

  it('obeys nothing of a larger one, and says so', async () => {
    const { obey, port } = await anAgent()
    const answer = await ask(port, '/v1/promise', { body: `"${'a'.repeat(32 * mebibyte - 1)}"` })
    expect(answer).toMatchObject({ status: 413, type: 'application/problem+json; charset=utf-8' })
    expect(problemIn(answer)).toMatchObject({
      code: 'REGENT_TOO_LARGE',
      detail: 'the body has more than 33554432 bytes',
    })
    expect(obey).not.toHaveBeenCalled()
  })

  it('answers whether it is live or ready without a token, and keeps what a failing order says to itself', async () => {
    const { obey, port } = await anAgent()
    expect(await ask(port, '/live', { method: 'GET', authorization: '' })).toMatchObject({ status: 200, text: 'yes\n' })
    expect(await ask(port, '/ready', { method: 'GET', authorization: '' })).toMatchObject({ status: 503, text: 'no\n' })
    obey.mockRejectedValueOnce(new Error('a secret'))
    const answer = await ask(port, '/v1/promise', { body: '{}' })
    expect(problemIn(answer)).toMatchObject({
      status: 500,
      code: 'REGENT_INTERNAL',
      detail: '/v1/promise could not be answered',
    })
    expect(answer.text).not.toContain('a secret')
  })
})
