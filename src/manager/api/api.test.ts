import { afterEach, describe, expect, it } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { Value } from 'typebox/value'
import { Type, type TSchema } from 'typebox'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { agentViewSchema } from '#api-contract/agent-view.ts'
import { explainViewSchema } from '#api-contract/explain-view.ts'
import { operationResultSchema, type OperationResult } from '#api-contract/operation-result.ts'
import { recoverySchema } from '#api-contract/recovery-view.ts'
import { foundTransactionsSchema, restoreWindowSchema, storedBackupsSchema } from '#api-contract/stored-backups.ts'
import { authorized, shop, shopAgents, shopRecovery, shopStore, testApi, type MemoryClusters } from './testing.ts'
import {
  clusterProblemSchema,
  clusterViewSchema,
  instanceRowSchema,
  topologyViewSchema,
  treeNodeSchema,
} from '#api-contract/views.ts'

let app: FastifyInstance
let clusters: MemoryClusters
let logged: string[]

async function start(limits: Parameters<typeof testApi>[0] = {}): Promise<void> {
  ;({ app, clusters, logged } = await testApi(limits))
}

afterEach(() => app.close())

const get = async (path: string) => app.inject({ url: `/api/v1${path}`, headers: authorized })
const post = async (path: string, payload: object) =>
  app.inject({ method: 'POST', url: `/api/v1${path}`, headers: authorized, payload })

const named = {
  'InstanceRow#': instanceRowSchema,
  'ClusterProblem#': clusterProblemSchema,
  'TreeNode#': treeNodeSchema,
}

/** A copy of a schema that checks strictly: no key more than documented, references followed. */
function strictly(schema: unknown): TSchema {
  if (Array.isArray(schema)) return schema.map(strictly)
  if (typeof schema !== 'object' || schema === null) return schema as TSchema
  const { $ref } = schema as { $ref?: keyof typeof named }
  if ($ref === 'TreeNode#')
    return Type.Object({ name: Type.String(), replicas: Type.Array(Type.Any()) }, { additionalProperties: false })
  if ($ref !== undefined) return strictly(named[$ref])
  const copy = Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => key !== '$id')
      .map(([key, value]) => [key, strictly(value)]),
  )
  return 'properties' in schema ? { additionalProperties: false, ...copy } : copy
}

describe('reading', () => {
  it.each([
    ['/clusters', Type.Array(clusterViewSchema), [shop]],
    ['/clusters/shop', clusterViewSchema, shop],
    [
      '/clusters/shop/topology',
      topologyViewSchema,
      {
        ...shop,
        tree: [
          { name: 'shop-0', replicas: [{ name: 'shop-1', replicas: [] }] },
          { name: 'shop-2', replicas: [] },
        ],
      },
    ],
    ['/clusters/shop/explain', explainViewSchema, undefined],
    ['/clusters/shop/agents', Type.Array(agentViewSchema), shopAgents],
    ['/clusters/shop/backups', storedBackupsSchema, shopStore.storedBackups],
    ['/clusters/shop/backups/window', restoreWindowSchema, shopStore.restoreWindow],
    ['/clusters/shop/recoveries', Type.Array(recoverySchema), [shopRecovery]],
    ['/clusters/shop/recoveries/r1', recoverySchema, shopRecovery],
  ])('%s answers everything its schema promises and nothing else', async (path, schema, expected) => {
    await start()
    const answer = await get(path)
    expect(answer.statusCode).toBe(200)
    const body: unknown = answer.json()
    expect(body).toEqual(expected ?? clusters.explain('shop'))
    expect([...Value.Errors(strictly(schema), body)]).toEqual([])
  })

  it('a search in the archive of backups answers a part, and takes no key that is not understood', async () => {
    await start()
    const search = { table: 'app.orders', kind: 'drop', since: '2026-11-25T03:12:09Z', after: 'shop/binlog/x' }
    const answer = await post('/clusters/shop/backups/find', search)
    expect(answer.json()).toEqual(shopStore.findInArchive)
    expect([...Value.Errors(strictly(foundTransactionsSchema), answer.json())]).toEqual([])
    expect(clusters.searched).toEqual([search])
    for (const bad of [{}, { ...search, table: '' }, { ...search, tables: 'a.b' }, { ...search, kind: 'DROP' }])
      expect((await post('/clusters/shop/backups/find', bad)).json()).toMatchObject({ code: 'REGENT_BAD_REQUEST' })
  })

  it('never sends what a schema does not name', async () => {
    await start()
    clusters.view = () => ({ ...shop, password: 'hunter2' }) as typeof shop
    expect((await get('/clusters/shop')).body).not.toContain('hunter2')
  })
})

describe('operations', () => {
  it('answer the result, with the recovery and the plan where there are any', async () => {
    await start()
    const result: OperationResult = {
      done: false,
      dryRun: true,
      sentence: 'would promote shop-1',
      recovery: 'r2',
      plan: ['demote shop-0', 'commit epoch 5'],
    }
    clusters.answer = async () => result
    const answer = await post('/clusters/shop/switchover', { dryRun: true })
    expect(answer.json()).toEqual(result)
    expect(Value.Check(operationResultSchema, answer.json())).toBe(true)
  })

  it.each([
    ['switchover', {}, { to: undefined, timeoutMs: undefined, reason: '', dryRun: false }],
    ['failover', {}, { to: undefined, acceptLoss: false, dryRun: false }],
    ['fence', { instance: 'shop-0' }, { instance: 'shop-0', keepPrimary: false, dryRun: false }],
    ['replace', { instance: 'shop-2' }, { instance: 'shop-2', acceptLoss: false, dryRun: false }],
    ['pause', {}, { reason: '', dryRun: false }],
    ['resume', {}, { dryRun: false }],
  ])('%s never takes the dangerous choice by default', async (operation, body, request) => {
    await start()
    await post(`/clusters/shop/${operation}`, body)
    expect(clusters.asked).toEqual([{ operation, cluster: 'shop', request }])
  })

  it('answer a refusal with its code and words', async () => {
    await start()
    clusters.answer = async () => {
      throw new RegentError('REGENT_REFUSED', say`shop-2 is 300 s behind`)
    }
    const answer = await post('/clusters/shop/switchover', { to: 'shop-2' })
    expect(answer.json()).toMatchObject({
      status: 409,
      code: 'REGENT_REFUSED',
      detail: 'shop-2 is 300 s behind',
      instance: '/api/v1/clusters/shop/switchover',
    })
  })

  it('hide what an unexpected error says from the client and write it to the log', async () => {
    await start()
    clusters.answer = async () => {
      throw new TypeError('secret internals')
    }
    const answer = await post('/clusters/shop/resume', {})
    expect(answer.statusCode).toBe(500)
    expect(answer.body).not.toContain('secret internals')
    expect(logged.join('')).toContain('secret internals')
  })

  it('are logged with who asked for what, without the token', async () => {
    await start()
    await post('/clusters/shop/fence', { instance: 'shop-1' })
    expect(logged.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({ operation: 'fence', cluster: 'shop', body: { instance: 'shop-1' }, from: '127.0.0.1' }),
    )
    expect(logged.join('')).not.toContain(authorized.authorization.slice(7))
  })
})

describe('health', () => {
  it('is told to anyone, whoever leads', async () => {
    await start()
    clusters.leads = false
    expect((await app.inject('/healthz')).json()).toEqual({ alive: true })
    expect((await app.inject('/readyz')).json()).toEqual({ ready: true, leads: false })
    expect((await app.inject({ method: 'HEAD', url: '/readyz' })).statusCode).toBe(200)
  })

  it('comes with metrics of the state at that moment', async () => {
    await start()
    const answer = await app.inject('/metrics')
    expect(answer.headers['content-type']).toContain('text/plain')
    expect(answer.body).toContain('regent_epoch{cluster="shop"} 4')
    expect(answer.body).toContain('regent_leader 1')
  })
})

describe('the rate limit', () => {
  it('refuses what comes too fast from one address, says when to come again, and leaves health and other addresses alone', async () => {
    await start({ requestsPerSecond: 3 })
    const answers = []
    for (let i = 0; i < 8; i++) answers.push(await get('/clusters'))
    const refused = answers.find((answer) => answer.statusCode === 429)
    expect(answers.slice(0, 3).map((answer) => answer.statusCode)).toEqual([200, 200, 200])
    expect(refused?.headers['retry-after']).toBe('1')
    expect(refused?.json()).toMatchObject({
      code: 'REGENT_TOO_MANY_REQUESTS',
      detail: 'more than 3 requests within a second came from 127.0.0.1',
    })
    expect((await app.inject('/healthz')).statusCode).toBe(200)
    expect(
      (await app.inject({ url: '/api/v1/clusters', headers: authorized, remoteAddress: '127.0.0.9' })).statusCode,
    ).toBe(200)
  })

  it('counts requests with a wrong token and for paths that do not exist', async () => {
    await start({ requestsPerSecond: 2 })
    await app.inject('/api/v1/clusters')
    await app.inject('/nope')
    expect((await app.inject('/api/v1/clusters')).statusCode).toBe(429)
  })
})
