import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bash, silentLog, testingActions } from '../testing.ts'
import type { Action } from '../wire/definitions.ts'
import { errorNames, type ActionResponse } from '../wire/calls.ts'
import { createLifecycleServer, type LifecycleServerOptions } from './create-server.ts'

const actions = [bash('echo', 'echo -n "$1$TEXT"'), bash('sleep', 'sleep 60 & wait'), { name: 'nothing' } as Action]

async function aServer(more: Partial<LifecycleServerOptions> = {}) {
  const { desk, kill } = testingActions(actions)
  const app = await createLifecycleServer({
    call: (request) => desk.call(request),
    token: undefined,
    maxConcurrency: 32,
    logsCalls: false,
    log: silentLog(),
    ...more,
  })
  onTestFinished(async () => {
    kill()
    await app.close()
  })
  const post = async (path: string, body: string | Buffer, headers = {}) => {
    const answer = await app.inject({ method: 'POST', url: path, payload: body, headers })
    return { status: answer.statusCode, type: answer.headers['content-type'], text: answer.body }
  }
  return { app, post, kill, call: (body: string | Buffer) => post('/v1.0/action', body) }
}

describe('the HTTP side of a lifecycle agent', () => {
  it('answers an action with 200 and JSON, whatever the content type of the body', async () => {
    const { post, call } = await aServer()
    const body = '{"action":"echo","parameters":{"TEXT":"é"},"future":1}'
    const answer = { status: 200, type: 'application/json', text: '{"output":"w6k="}' }
    expect(await call(body)).toEqual(answer)
    for (const type of ['text/plain; charset=x', '', 'json', ';', 'a/b/c', 'application/json; charset=', 'é'])
      expect(await post('/v1.0/action?x', body, { 'content-type': type }), type).toEqual(answer)
  })

  it.each([
    ['{"action":"foo"}', 'notDefined', 'foo is not defined: notDefined'],
    ['{"action":"nothing"}', 'badRequest', 'nothing is invalid: badRequest'],
    ['', 'badRequest', /^unmarshal action request error: the body is not JSON .*: badRequest$/],
    ['{"action":5}', 'badRequest', 'unmarshal action request error: action is 5; allowed is a text: badRequest'],
    ['{"action":"echo","parameters":{"A":1}}', 'badRequest', /parameters\.A is 1; allowed is a text: badRequest$/],
    ['{"action":"echo","arguments":["a"]}', 'badRequest', /arguments\.0 is "a"; allowed is a list: badRequest$/],
    ['{"action":"echo","parameters":{"A=B":"1"}}', 'badRequest', /parameter "A=B" cannot be a variable/],
  ])('answers %s with 200 and %s', async (body, error, message) => {
    const { call } = await aServer()
    const { status, text } = await call(body)
    const answer = JSON.parse(text) as ActionResponse
    expect([status, answer.error]).toEqual([200, error])
    if (typeof message === 'string') expect(answer.message).toBe(message)
    else expect(answer.message).toMatch(message)
  })

  it.each([
    ['probe', 'Probe'],
    ['streaming', 'Streaming'],
  ])('answers /v1.0/%s with 500', async (path, name) => {
    const { post } = await aServer()
    expect(await post(`/v1.0/${path}`, '{}')).toEqual({
      status: 500,
      type: 'application/json',
      text: `service ${name} does not support request handling: notImplemented`,
    })
  })

  it.each([
    ['GET', '/v1.0/action', 405],
    ['PUT', '/v1.0/probe', 405],
    ['POST', '/v1.0/other', 404],
    ['GET', '/healthz', 404],
    ['POST', '/', 404],
  ] as const)('answers %s %s with %i', async (method, url, status) => {
    const { app } = await aServer()
    expect((await app.inject({ method, url })).statusCode).toBe(status)
  })

  it('has no route where there are no actions', async () => {
    const { post } = await aServer({ call: undefined })
    expect((await post('/v1.0/action', '{}')).status).toBe(404)
  })

  it('takes bodies of 4 MiB and none that is larger', async () => {
    const { call } = await aServer()
    const body = (bytes: number) => `{"action":"nothing","x":"${'x'.repeat(bytes - 27)}"}`
    expect(Buffer.byteLength(body(4 * 1024 * 1024))).toBe(4 * 1024 * 1024)
    expect((await call(body(4 * 1024 * 1024))).status).toBe(200)
    expect((await call(body(4 * 1024 * 1024 + 1))).status).toBe(413)
  })

  it('takes nothing from who does not show the token', async () => {
    const { post } = await aServer({ token: 'the-token-of-the-test' })
    const body = '{"action":"echo"}'
    const none = await post('/v1.0/action', body)
    const { code, remedy } = JSON.parse(none.text) as { readonly code: string; readonly remedy: string }
    expect([none.status, code]).toEqual([401, 'REGENT_UNAUTHORIZED'])
    expect(remedy).toMatch(/--token-file .* lifecycle\.tokenFile/)
    expect(remedy).not.toContain('regent-api')
    expect((await post('/v1.0/action', body, { authorization: 'Bearer other' })).status).toBe(401)
    expect((await post('/v1.0/other', body)).status).toBe(401)
    expect((await post('/v1.0/action', body, { authorization: 'Bearer the-token-of-the-test' })).status).toBe(200)
  })

  it('answers 503 to more calls at a time than it takes, and takes calls again afterwards', async () => {
    const { call, kill } = await aServer({ maxConcurrency: 2 })
    const slow = [call('{"action":"sleep"}'), call('{"action":"sleep"}')]
    await expect.poll(async () => (await call('{"action":"nothing"}')).status).toBe(503)
    kill()
    expect((await Promise.all(slow)).map(({ text }) => text)).toEqual(
      Array(2).fill('{"error":"failed","message":"the agent is stopping: failed"}'),
    )
    expect((await call('{"action":"nothing"}')).status).toBe(200)
  })

  it('answers any body with 200 and an error that callers know', async () => {
    const { call } = await aServer()
    const known: readonly string[] = errorNames
    const json = fc.json({ maxDepth: 8 }).map((text) => Buffer.from(text))
    const fields = fc.record(
      {
        action: fc.constantFrom('nothing', 'nobody', '', '__proto__'),
        parameters: fc.oneof(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer())), fc.anything()),
        arguments: fc.oneof(fc.array(fc.array(fc.string())), fc.anything()),
        timeoutSeconds: fc.oneof(fc.integer(), fc.double(), fc.string()),
        retryPolicy: fc.oneof(fc.record({ maxRetries: fc.integer(), retryInterval: fc.double() }), fc.anything()),
        nonBlocking: fc.oneof(fc.boolean(), fc.constant(null)),
        rerun: fc.oneof(fc.boolean(), fc.string()),
      },
      { requiredKeys: [] },
    )
    const request = fields.map((value) => Buffer.from(jsonOf(value)))
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array().map((bytes) => Buffer.from(bytes)),
          json,
          request,
        ),
        async (body) => {
          const { status, text } = await call(body)
          expect(status).toBe(200)
          const { error, message } = JSON.parse(text) as ActionResponse
          expect(known).toContain(error)
          expect(message?.endsWith(String(error))).toBe(true)
        },
      ),
      { numRuns: 500 },
    )
  })
})

/** JSON of anything: what JSON has no word for is left out. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? String(item) : item)) ?? '{}'
}
