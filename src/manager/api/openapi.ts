import { fastifySwagger } from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { agentViewSchema } from '#api-contract/agent-view.ts'
import { explainViewSchema } from '#api-contract/explain-view.ts'
import { operationResultSchema } from '#api-contract/operation-result.ts'
import { recoverySchema } from '#api-contract/recovery-view.ts'
import { foundTransactionsSchema, restoreWindowSchema, storedBackupsSchema } from '#api-contract/stored-backups.ts'
import { problemSchema, routeSchema } from './route-schema.ts'
import {
  clusterViewSchema,
  clusterProblemSchema,
  instanceRowSchema,
  topologyViewSchema,
  treeNodeSchema,
} from '#api-contract/views.ts'

const named = [
  instanceRowSchema,
  clusterProblemSchema,
  clusterViewSchema,
  treeNodeSchema,
  topologyViewSchema,
  explainViewSchema,
  agentViewSchema,
  storedBackupsSchema,
  restoreWindowSchema,
  foundTransactionsSchema,
  recoverySchema,
  operationResultSchema,
  problemSchema,
]

/** Collects the document from every route that is added afterwards. */
export async function documentRoutes(app: FastifyInstance): Promise<void> {
  for (const schema of named) app.addSchema(schema)
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Regent manager',
        version: '1',
        description: 'Keeps MySQL clusters highly available. Every error is a Problem.',
      },
      tags: [
        { name: 'clusters', description: 'What there is, how it is and why' },
        { name: 'operations', description: 'What changes something; each takes dryRun' },
        { name: 'manager', description: 'The manager itself' },
      ],
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
      security: [{ token: [] }],
    },
    refResolver: {
      buildLocalReference: (schema, _base, _fragment, index) =>
        typeof schema.$id === 'string' ? schema.$id : `Schema${index}`,
    },
  })
}

export function openApiRoute(app: FastifyInstance): void {
  app.get(
    '/openapi.json',
    {
      schema: routeSchema({
        operationId: 'getOpenApi',
        tag: 'manager',
        summary: 'This document',
        answer: Type.Object({}, { additionalProperties: true }),
      }),
    },
    async () => app.swagger(),
  )
}
