import type { FastifyInstance } from 'fastify'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { ClusterService } from '../clusters/cluster-service.ts'
import { operationResultSchema } from '#api-contract/operation-result.ts'
import { completed, operationNames, operations, type OperationName } from '#api-contract/operations.ts'
import { clusterParams, type ClusterParams } from '#api-contract/path-params.ts'
import { routeSchema } from './route-schema.ts'
import { refTo } from '#api-contract/views.ts'

/** What changes something. Only a manager that leads takes these; who asked for what is logged. */
export function operationRoutes(app: FastifyInstance, clusters: ClusterService): void {
  for (const name of operationNames) operationRoute(app, clusters, name)
}

function operationRoute<N extends OperationName>(app: FastifyInstance, clusters: ClusterService, name: N): void {
  const { summary, body } = operations[name]
  app.post<{ Params: ClusterParams }>(
    `/clusters/:cluster/${name}`,
    {
      schema: routeSchema({
        operationId: name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
        tag: 'operations',
        summary,
        params: clusterParams,
        body,
        answer: refTo(operationResultSchema),
      }),
    },
    async ({ params: { cluster }, body, ip, log }, reply) => {
      if (!clusters.leads) {
        void reply.header('retry-after', 1)
        throw new RegentError('REGENT_NOT_LEADER', say`another manager leads; this one does not take ${name}`)
      }
      log.info({ operation: name, cluster, body, from: ip }, `${name} of ${cluster} was asked for`)
      return clusters.operate(cluster, name, completed(name, body))
    },
  )
}
