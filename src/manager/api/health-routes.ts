import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { ClusterService } from '../clusters/cluster-service.ts'
import type { ManagerMetrics } from '../clusters/metrics.ts'
import { routeSchema } from './route-schema.ts'

/** Answered without a token and without a limit: probes and Prometheus have neither, and nothing here is secret. */
export const openPaths: readonly string[] = ['/healthz', '/readyz', '/metrics']

export function healthRoutes(app: FastifyInstance, clusters: ClusterService, metrics: ManagerMetrics): void {
  app.get(
    '/healthz',
    {
      schema: routeSchema({
        operationId: 'healthz',
        tag: 'manager',
        summary: 'The process runs',
        open: true,
        answer: Type.Object({ alive: Type.Boolean() }),
      }),
    },
    async () => ({ alive: true }),
  )
  app.get(
    '/readyz',
    {
      schema: routeSchema({
        operationId: 'readyz',
        tag: 'manager',
        summary: 'It takes requests; a manager that stands by is ready too',
        open: true,
        answer: Type.Object({ ready: Type.Boolean(), leads: Type.Boolean() }),
      }),
    },
    async () => ({ ready: true, leads: clusters.leads }),
  )
  app.get(
    '/metrics',
    {
      schema: routeSchema({
        operationId: 'metrics',
        tag: 'manager',
        summary: 'For Prometheus',
        open: true,
        answer: Type.String(),
        answerType: 'text/plain',
      }),
    },
    async (_request, reply) => {
      metrics.collect(clusters.list(), clusters.leads)
      const text = await metrics.text()
      return reply.type(metrics.contentType).send(text)
    },
  )
}
