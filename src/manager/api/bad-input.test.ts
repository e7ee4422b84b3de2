import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { catalogue, remedyOf } from '#common/errors/error-catalogue.ts'
import type { Problem } from '#common/http/problem.ts'
import { authorized, testApi, type MemoryClusters } from './testing.ts'

let app: FastifyInstance
let clusters: MemoryClusters

beforeAll(async () => {
  ;({ app, clusters } = await testApi())
})

beforeEach(() => {
  clusters.asked.length = 0
})

afterAll(() => app.close())

const api = '/api/v1'
const shop = `${api}/clusters/shop`

/** Answers of the API are problems of the catalogue, complete, and nothing was asked of the clusters. */
async function refusal(request: InjectOptions): Promise<Problem> {
  const answer = await app.inject(request)
  expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  const problem = answer.json<Problem>()
  expect(problem).toMatchObject({
    ...catalogue[problem.code],
    remedy: remedyOf(problem.code, 'local'),
    status: answer.statusCode,
    type: `urn:regent:error:${problem.code}`,
  })
  expect(String(problem.detail).length).toBeLessThan(600)
  expect(clusters.asked).toEqual([])
  return problem
}

interface Route {
  readonly url: string
  /** A body that is accepted. */
  readonly body: Readonly<Record<string, unknown>>
  /** Values that are refused, by key. */
  readonly bad: Readonly<Record<string, readonly unknown[]>>
}

const notBoolean = ['true', 1, null, {}]
const notInstance = [
  1,
  '',
  'shop',
  'shop-',
  'Shop-0',
  'shop-0@volume',
  '../shop-0',
  'shop-0\n',
  `a${'b'.repeat(100)}-0`,
  null,
  ['shop-0'],
]
const notReason = [1, 'two\nlines', '\u0000', 'x'.repeat(201), null]

const operations: readonly Route[] = [
  {
    url: `${shop}/switchover`,
    body: { to: 'shop-1', timeoutMs: 5_000, reason: 'why', dryRun: true },
    bad: {
      to: notInstance,
      timeoutMs: ['5000', 99, 86_400_001, 1.5, -1, 1e300, null],
      reason: notReason,
      dryRun: notBoolean,
    },
  },
  {
    url: `${shop}/failover`,
    body: { to: 'shop-1', acceptLoss: true, dryRun: true },
    bad: { to: notInstance, acceptLoss: notBoolean, dryRun: notBoolean },
  },
  {
    url: `${shop}/fence`,
    body: { instance: 'shop-1', keepPrimary: true, dryRun: true },
    bad: { instance: notInstance, keepPrimary: notBoolean, dryRun: notBoolean },
  },
  {
    url: `${shop}/unfence`,
    body: { instance: 'shop-1', dryRun: true },
    bad: { instance: notInstance, dryRun: notBoolean },
  },
  { url: `${shop}/pause`, body: { reason: 'why', dryRun: true }, bad: { reason: notReason, dryRun: notBoolean } },
  { url: `${shop}/resume`, body: { dryRun: true }, bad: { dryRun: notBoolean } },
  {
    url: `${shop}/downtime`,
    body: { instance: 'shop-1', forMs: 7_200_000, reason: 'new disk', owner: 'ann', dryRun: true },
    bad: {
      instance: notInstance,
      forMs: ['2h', 999, 2_592_000_001, 1.5, -1, null],
      reason: [...notReason, ''],
      owner: [1, 'two\nlines', 'x'.repeat(101), null],
      dryRun: notBoolean,
    },
  },
  {
    url: `${shop}/end-downtime`,
    body: { instance: 'shop-1', dryRun: true },
    bad: { instance: notInstance, dryRun: notBoolean },
  },
  {
    url: `${shop}/scale`,
    body: { instances: 5, dryRun: true },
    bad: { instances: ['5', 0, 17, -3, 2.5, null], dryRun: notBoolean },
  },
  {
    url: `${shop}/replace`,
    body: { instance: 'shop-1', acceptLoss: true, dryRun: true },
    bad: { instance: notInstance, acceptLoss: notBoolean, dryRun: notBoolean },
  },
]

const reads = [
  '/clusters',
  '/clusters/shop',
  '/clusters/shop/topology',
  '/clusters/shop/explain',
  '/clusters/shop/agents',
  '/clusters/shop/backups',
  '/clusters/shop/backups/window',
  '/clusters/shop/recoveries',
  '/clusters/shop/recoveries/r1',
  '/clusters/shop/events',
  '/openapi.json',
].map((path) => api + path)

const post = (url: string, payload: string | Buffer | Readable, contentType = 'application/json'): InjectOptions => ({
  method: 'POST',
  url,
  payload,
  headers: { ...authorized, ...(contentType === '' ? {} : { 'content-type': contentType }) },
})

describe.each(operations)('POST $url', ({ url, body, bad }) => {
  it('takes what is valid and passes it on as it came', async () => {
    const answer = await app.inject(post(url, JSON.stringify(body)))
    expect(answer.statusCode).toBe(200)
    expect(clusters.asked).toEqual([{ operation: url.split('/').at(-1), cluster: 'shop', request: body }])
  })

  it.each(Object.entries(bad).flatMap(([key, values]) => values.map((value) => [key, value] as const)))(
    'refuses %s: %j and names both',
    async (key, value) => {
      const problem = await refusal(post(url, JSON.stringify({ ...body, [key]: value })))
      expect(problem.code).toBe('REGENT_BAD_REQUEST')
      expect(problem.detail).toMatch(new RegExp(`^the body: ${key} is .+; allowed is `, 's'))
    },
  )

  it('refuses a key it does not know, naming those it does', async () => {
    const problem = await refusal(post(url, JSON.stringify({ ...body, dryrun: true })))
    expect(problem).toMatchObject({
      code: 'REGENT_BAD_REQUEST',
      detail: expect.stringMatching(/unknown key "dryrun"; allowed are .*dryRun/) as string,
    })
  })

  it.each([
    ['a key of every object', '{"__proto__":{"dryRun":true}}', /unknown key "__proto__"/],
    ['no object', '[]', /a mapping/],
    ['null', 'null', /empty/],
    ['nothing', '', /empty/],
    ['no JSON', '{dryRun:true}', /not JSON/],
    ['half of it', '{"dryRun":tr', /not JSON/],
    ['thirty thousand lists in each other', `${'['.repeat(30_000)}${']'.repeat(30_000)}`, /nested too deeply/],
  ])('refuses %s', async (_, payload, says) => {
    const problem = await refusal(post(url, payload))
    expect(problem).toMatchObject({
      code: 'REGENT_BAD_REQUEST',
      instance: url,
      detail: expect.stringMatching(says) as string,
    })
  })

  it('refuses bytes that are no UTF-8', async () => {
    expect(await refusal(post(url, Buffer.from('{"reason":"caf\xe9"}', 'latin1')))).toMatchObject({
      code: 'REGENT_BAD_REQUEST',
      detail: 'the body is not UTF-8',
    })
  })

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json-patch+json',
    'nonsense',
    '',
    'application/json; charset=latin1',
  ])('refuses the content type "%s"', async (contentType) => {
    expect(await refusal(post(url, '{}', contentType))).toMatchObject({
      code: 'REGENT_BAD_REQUEST',
      detail: expect.stringContaining('content type') as string,
    })
  })

  it('refuses a body past the limit, announced or not', async () => {
    const huge = JSON.stringify({ reason: 'x'.repeat(65_536) })
    for (const payload of [huge, Readable.from([huge])]) {
      expect(await refusal(post(url, payload))).toMatchObject({
        code: 'REGENT_TOO_LARGE',
        detail: 'the body is larger than 65536 bytes',
      })
    }
  })

  it('refuses options in the query, where they would be ignored', async () => {
    expect(await refusal(post(`${url}?dryRun=true`, JSON.stringify(body)))).toMatchObject({
      code: 'REGENT_BAD_REQUEST',
      detail: expect.stringContaining('"dryRun" in the query') as string,
    })
  })

  it('knows only clusters that exist', async () => {
    expect(await refusal(post(url.replace('shop', 'nope'), JSON.stringify(body)))).toMatchObject({
      code: 'REGENT_NOT_FOUND',
      detail: 'there is no cluster "nope"; there is: shop',
    })
  })

  it('is not answered by a manager that does not lead', async () => {
    clusters.leads = false
    const problem = await refusal(post(url, JSON.stringify(body))).finally(() => (clusters.leads = true))
    expect(problem).toMatchObject({ status: 503, code: 'REGENT_NOT_LEADER' })
  })
})

const everyRoute = [
  ...reads.map((url) => ['GET', url] as const),
  ...operations.map(({ url }) => ['POST', url] as const),
]

describe.each(everyRoute)('%s %s', (method, url) => {
  it.each([
    ['no token', {}],
    ['a wrong token', { authorization: 'Bearer wrong-token-0123456' }],
    ['another scheme', { authorization: `Basic ${authorized.authorization.slice(7)}` }],
    ['no scheme', { authorization: authorized.authorization.slice(7) }],
  ])('refuses %s before it looks at anything else', async (_, headers) => {
    const answer = await app.inject({
      method,
      url: `${url}?x=1`,
      headers,
      ...(method === 'POST' ? { payload: 'no JSON' } : {}),
    })
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="regent"')
    expect(answer.json<Problem>()).toMatchObject({
      status: 401,
      code: 'REGENT_UNAUTHORIZED',
      remedy: expect.stringContaining('Bearer') as string,
    })
    expect(answer.body).not.toContain('token-0123456')
  })

  it('refuses other methods, naming those it takes', async () => {
    const answer = await app.inject({ method: method === 'GET' ? 'DELETE' : 'GET', url, headers: authorized })
    expect(answer.headers.allow).toContain(method)
    expect(answer.json()).toMatchObject({ status: 405, code: 'REGENT_METHOD_NOT_ALLOWED' })
  })
})

describe('paths that lead nowhere', () => {
  it.each([
    ['/nope', 'REGENT_NOT_FOUND'],
    [`${api}/nope`, 'REGENT_NOT_FOUND'],
    [`${shop}/nope`, 'REGENT_NOT_FOUND'],
    [`${api}/clusters/nope`, 'REGENT_NOT_FOUND'],
    [`${api}/clusters/nope/events`, 'REGENT_NOT_FOUND'],
    [`${api}/clusters/9-shops.nope`, 'REGENT_NOT_FOUND'],
    [`${api}/clusters/shops.eu.nope`, 'REGENT_BAD_NAME'],
    [`${api}/clusters/-shops.nope`, 'REGENT_BAD_NAME'],
    [`${shop}/recoveries/r2`, 'REGENT_NOT_FOUND'],
    [`${shop}/recoveries/a%20b`, 'REGENT_BAD_NAME'],
    [`${api}/clusters/Shop`, 'REGENT_BAD_NAME'],
    [`${api}/clusters/..%2f..%2fetc`, 'REGENT_BAD_NAME'],
    [`${api}/clusters/%ff`, 'REGENT_BAD_REQUEST'],
    [`${api}/clusters/%00`, 'REGENT_BAD_NAME'],
    [`${api}/clusters/${'a'.repeat(3_000)}`, 'REGENT_BAD_REQUEST'],
  ])('%s is %s', async (url, code) => {
    expect((await refusal({ url, headers: authorized })).code).toBe(code)
  })

  it('tell nothing under /api to who has no token', async () => {
    expect((await refusal({ url: `${api}/nope` })).code).toBe('REGENT_UNAUTHORIZED')
  })
})
