import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { ClusterService } from '../clusters/cluster-service.ts'
import type { EventStreams } from './event-streams.ts'
import { clusterParams, type ClusterParams } from '#api-contract/path-params.ts'
import { routeSchema } from './route-schema.ts'

export const eventsPath = '/clusters/:cluster/events'

/**
 * A cluster's state as server-sent events: the present one at once, then each change. At most `limit` streams at a
 * time.
 */
export function eventRoutes(
  app: FastifyInstance,
  clusters: ClusterService,
  streams: EventStreams,
  limit: number,
): void {
  app.get<{ Params: ClusterParams }>(
    eventsPath,
    {
      exposeHeadRoute: false,
      schema: routeSchema({
        operationId: 'watchCluster',
        tag: 'clusters',
        summary: 'Server-sent events: "state" with a ClusterView, now and after every change',
        params: clusterParams,
        answer: Type.String(),
        answerType: 'text/event-stream',
      }),
    },
    (request, reply) => {
      const { cluster } = request.params
      const now = clusters.view(cluster)
      if (streams.size >= limit) {
        void reply.header('retry-after', 5)
        throw new RegentError(
          'REGENT_TOO_MANY_REQUESTS',
          say`${limit} event streams are open already, as many as there may be`,
        )
      }
      reply.hijack()
      const stream = streams.open(reply.raw)
      stream.send('state', now)
      const unsubscribe = clusters.subscribe(cluster, (event) => {
        if (event.type === 'gone') stream.end()
        else stream.send(event.type, event.view)
      })
      stream.onEnd(unsubscribe)
    },
  )
}
