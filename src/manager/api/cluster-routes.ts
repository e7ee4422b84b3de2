import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { ClusterService } from '../clusters/cluster-service.ts'
import { agentViewSchema } from '#api-contract/agent-view.ts'
import { explainViewSchema } from '#api-contract/explain-view.ts'
import { clusterParams, type ClusterParams } from '#api-contract/path-params.ts'
import { routeSchema } from './route-schema.ts'
import { clusterViewSchema, refTo, topologyViewSchema } from '#api-contract/views.ts'

/** What there is and how it is. */
export function clusterRoutes(app: FastifyInstance, clusters: ClusterService): void {
  app.get(
    '/clusters',
    {
      schema: routeSchema({
        operationId: 'listClusters',
        tag: 'clusters',
        summary: 'All clusters',
        answer: Type.Array(refTo(clusterViewSchema)),
      }),
    },
    async () => clusters.list(),
  )
  app.get<{ Params: ClusterParams }>(
    '/clusters/:cluster',
    {
      schema: routeSchema({
        operationId: 'getCluster',
        tag: 'clusters',
        summary: 'One cluster',
        params: clusterParams,
        answer: refTo(clusterViewSchema),
      }),
    },
    async (request) => clusters.view(request.params.cluster),
  )
  app.get<{ Params: ClusterParams }>(
    '/clusters/:cluster/topology',
    {
      schema: routeSchema({
        operationId: 'getTopology',
        tag: 'clusters',
        summary: 'A cluster and who replicates from whom',
        params: clusterParams,
        answer: refTo(topologyViewSchema),
      }),
    },
    async (request) => clusters.topology(request.params.cluster),
  )
  app.get<{ Params: ClusterParams }>(
    '/clusters/:cluster/explain',
    {
      schema: routeSchema({
        operationId: 'explain',
        tag: 'clusters',
        summary: 'Why a cluster is as it is',
        params: clusterParams,
        answer: refTo(explainViewSchema),
      }),
    },
    async (request) => clusters.explain(request.params.cluster),
  )
  app.get<{ Params: ClusterParams }>(
    '/clusters/:cluster/agents',
    {
      schema: routeSchema({
        operationId: 'listAgents',
        tag: 'clusters',
        summary: 'What each agent of a cluster looks after again and again, asked at this moment',
        params: clusterParams,
        answer: Type.Array(refTo(agentViewSchema)),
      }),
    },
    async (request) => clusters.agents(request.params.cluster),
  )
}
