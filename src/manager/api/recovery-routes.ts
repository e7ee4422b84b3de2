import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { ClusterService } from '../clusters/cluster-service.ts'
import { recoverySchema } from '#api-contract/recovery-view.ts'
import { clusterParams, recoveryParams, type ClusterParams, type RecoveryParams } from '#api-contract/path-params.ts'
import { routeSchema } from './route-schema.ts'
import { refTo } from '#api-contract/views.ts'

/** What happened, step by step. */
export function recoveryRoutes(app: FastifyInstance, clusters: ClusterService): void {
  app.get<{ Params: ClusterParams }>(
    '/clusters/:cluster/recoveries',
    {
      schema: routeSchema({
        operationId: 'listRecoveries',
        tag: 'clusters',
        summary: 'Recoveries, newest first',
        params: clusterParams,
        answer: Type.Array(refTo(recoverySchema)),
      }),
    },
    async (request) => clusters.recoveries(request.params.cluster),
  )
  app.get<{ Params: RecoveryParams }>(
    '/clusters/:cluster/recoveries/:id',
    {
      schema: routeSchema({
        operationId: 'getRecovery',
        tag: 'clusters',
        summary: 'One recovery with its timeline',
        params: recoveryParams,
        answer: refTo(recoverySchema),
      }),
    },
    async (request) => clusters.recovery(request.params.cluster, request.params.id),
  )
}
