import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { authorized, testApi } from './testing.ts'

interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly security?: readonly unknown[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema?: object
  }[]
  readonly requestBody?: object
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: object }>>
}

interface Document {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, unknown>>; readonly securitySchemes: object }
  readonly security: readonly unknown[]
  readonly tags: readonly { readonly name: string }[]
}

let app: FastifyInstance
let document: Document

beforeAll(async () => {
  ;({ app } = await testApi())
  const answer = await app.inject({ url: '/api/v1/openapi.json', headers: authorized })
  document = answer.json()
})

afterAll(() => app.close())

const routes = [
  'get /api/v1/clusters',
  'get /api/v1/clusters/{cluster}',
  'get /api/v1/clusters/{cluster}/agents',
  'get /api/v1/clusters/{cluster}/backups',
  'get /api/v1/clusters/{cluster}/backups/window',
  'get /api/v1/clusters/{cluster}/events',
  'get /api/v1/clusters/{cluster}/explain',
  'get /api/v1/clusters/{cluster}/recoveries',
  'get /api/v1/clusters/{cluster}/recoveries/{id}',
  'get /api/v1/clusters/{cluster}/topology',
  'get /api/v1/openapi.json',
  'get /healthz',
  'get /metrics',
  'get /readyz',
  'post /api/v1/clusters/{cluster}/backup',
  'post /api/v1/clusters/{cluster}/backups/find',
  'post /api/v1/clusters/{cluster}/downtime',
  'post /api/v1/clusters/{cluster}/end-downtime',
  'post /api/v1/clusters/{cluster}/failover',
  'post /api/v1/clusters/{cluster}/fence',
  'post /api/v1/clusters/{cluster}/pause',
  'post /api/v1/clusters/{cluster}/rehearse',
  'post /api/v1/clusters/{cluster}/replace',
  'post /api/v1/clusters/{cluster}/reseed',
  'post /api/v1/clusters/{cluster}/restart',
  'post /api/v1/clusters/{cluster}/resume',
  'post /api/v1/clusters/{cluster}/scale',
  'post /api/v1/clusters/{cluster}/switchover',
  'post /api/v1/clusters/{cluster}/test-hooks',
  'post /api/v1/clusters/{cluster}/unfence',
]

function operations(): readonly (readonly [string, string, Operation])[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [method, path, operation] as const),
  )
}

function everyReference(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => (key === '$ref' ? [inner as string] : everyReference(inner)))
}

describe('the OpenAPI document', () => {
  it('lists exactly the routes there are', () => {
    expect(
      operations()
        .map(([method, path]) => `${method} ${path}`)
        .sort(),
    ).toEqual(routes)
    for (const route of routes) {
      const [method = '', path = ''] = route.split(' ')
      expect(app.hasRoute({ method: method.toUpperCase(), url: path.replace(/\{(\w+)\}/g, ':$1') })).toBe(true)
    }
  })

  it('has what the OpenAPI 3.1 specification demands of a document', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(document.info).toMatchObject({ title: expect.any(String) as string, version: expect.any(String) as string })
    for (const path of Object.keys(document.paths)) expect(path).toMatch(/^\//)
    for (const name of Object.keys(document.components.schemas)) expect(name).toMatch(/^[A-Za-z0-9._-]+$/)
  })

  it('gives every operation an id of its own, a summary and a tag that is declared', () => {
    const tags = document.tags.map((tag) => tag.name)
    for (const [method, path, { operationId, summary, tags: its = [] }] of operations()) {
      const where = `${method} ${path}`
      expect(operationId, where).toMatch(/^[a-z]\w+$/i)
      expect(summary, where).toBeTruthy()
      expect(its, where).toHaveLength(1)
      expect(tags, where).toContain(its[0])
    }
    expect(new Set(operations().map(([, , operation]) => operation.operationId)).size).toBe(routes.length)
  })

  it('describes every path parameter', () => {
    for (const [method, path, { parameters = [] }] of operations()) {
      const where = `${method} ${path}`
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(parameters.map((parameter) => parameter.name).sort(), where).toEqual(inPath.sort())
      for (const parameter of parameters)
        expect(parameter, where).toMatchObject({ in: 'path', required: true, schema: { type: 'string' } })
    }
  })

  it('describes every answer, and errors as problems', () => {
    for (const [method, path, { responses }] of operations()) {
      const where = `${method} ${path}`
      expect(Object.keys(responses).sort(), where).toEqual(['200', '4XX', '5XX'])
      for (const response of Object.values(responses)) expect(response.description, where).toBeTruthy()
      expect(responses['4XX']?.content, where).toEqual({
        'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
      })
    }
  })

  it('says that bodies are needed and strict, and that everything under /api needs the token', () => {
    expect(document.components.securitySchemes).toEqual({ token: { type: 'http', scheme: 'bearer' } })
    expect(document.security).toEqual([{ token: [] }])
    for (const [method, path, operation] of operations()) {
      expect(operation.security, path).toEqual(path.startsWith('/api/') ? undefined : [])
      const strictJson = {
        required: true,
        content: { 'application/json': { schema: { type: 'object', additionalProperties: false } } },
      }
      if (method === 'post') expect(operation.requestBody, path).toMatchObject(strictJson)
    }
  })

  it('refers only to schemas that it has', () => {
    const references = everyReference(document)
    expect(references.length).toBeGreaterThan(20)
    for (const reference of references) {
      expect(reference).toMatch(/^#\/components\/schemas\//)
      expect(Object.keys(document.components.schemas)).toContain(reference.split('/').at(-1))
    }
  })
})
