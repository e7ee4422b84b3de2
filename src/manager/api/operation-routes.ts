import type { FastifyInstance } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { RegentError } from '#common/errors/errors.ts'
import type { ClusterService } from '../clusters/cluster-service.ts'
import { operationResultSchema, type OperationResult } from '#api-contract/operation-result.ts'
import {
  clusterParams,
  downtimeBody,
  endDowntimeBody,
  failoverBody,
  fenceBody,
  pauseBody,
  replaceBody,
  resumeBody,
  scaleBody,
  switchoverBody,
  unfenceBody,
  type ClusterParams,
} from '#api-contract/requests.ts'
import { routeSchema } from './route-schema.ts'
import { refTo } from '#api-contract/views.ts'

interface Operation<Body extends TSchema> {
  readonly name: string
  readonly summary: string
  readonly body: Body
  readonly run: (cluster: string, body: Static<Body>) => Promise<OperationResult>
}

/** What changes something. Only a manager that leads takes these; who asked for what is logged. */
export function operationRoutes(app: FastifyInstance, clusters: ClusterService): void {
  operation(app, clusters, {
    name: 'switchover',
    summary: 'Make another instance primary, planned: no write is lost, the pause is short',
    body: switchoverBody,
    run: (cluster, { from, to, timeoutMs, reason = '', dryRun = false }) =>
      clusters.switchover(cluster, { from, to, timeoutMs, reason, dryRun }),
  })
  operation(app, clusters, {
    name: 'failover',
    summary: 'Make another instance primary although the present one does not answer',
    body: failoverBody,
    run: (cluster, { to, acceptLoss = false, dryRun = false }) =>
      clusters.failover(cluster, { to, acceptLoss, dryRun }),
  })
  operation(app, clusters, {
    name: 'fence',
    summary: 'Take an instance away from clients until it is unfenced',
    body: fenceBody,
    run: (cluster, { instance, keepPrimary = false, dryRun = false }) =>
      clusters.fence(cluster, { instance, keepPrimary, dryRun }),
  })
  operation(app, clusters, {
    name: 'unfence',
    summary: 'Give a fenced instance back to clients',
    body: unfenceBody,
    run: (cluster, { instance, dryRun = false }) => clusters.unfence(cluster, { instance, dryRun }),
  })
  operation(app, clusters, {
    name: 'pause',
    summary: 'Decide nothing automatically until resumed',
    body: pauseBody,
    run: (cluster, { reason = '', dryRun = false }) => clusters.pause(cluster, { reason, dryRun }),
  })
  operation(app, clusters, {
    name: 'resume',
    summary: 'Decide automatically again',
    body: resumeBody,
    run: (cluster, { dryRun = false }) => clusters.resume(cluster, { dryRun }),
  })
  operation(app, clusters, {
    name: 'downtime',
    summary: 'Expect trouble of an instance for a while: it calls nobody, and another one is preferred as primary',
    body: downtimeBody,
    run: (cluster, { instance, forMs, reason, owner = '', dryRun = false }) =>
      clusters.downtime(cluster, { instance, forMs, reason, owner, dryRun }),
  })
  operation(app, clusters, {
    name: 'end-downtime',
    summary: 'End the downtime of an instance before its time',
    body: endDowntimeBody,
    run: (cluster, { instance, dryRun = false }) => clusters.endDowntime(cluster, { instance, dryRun }),
  })
  operation(app, clusters, {
    name: 'scale',
    summary: 'Change the number of instances',
    body: scaleBody,
    run: (cluster, { instances, dryRun = false }) => clusters.scale(cluster, { instances, dryRun }),
  })
  operation(app, clusters, {
    name: 'replace',
    summary: 'Give up a lost instance with its volume, and have it made anew elsewhere',
    body: replaceBody,
    run: (cluster, { instance, acceptLoss = false, dryRun = false }) =>
      clusters.replace(cluster, { instance, acceptLoss, dryRun }),
  })
}

function operation<Body extends TSchema>(
  app: FastifyInstance,
  clusters: ClusterService,
  { name, summary, body, run }: Operation<Body>,
): void {
  app.post<{ Params: ClusterParams; Body: Static<Body> }>(
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
    async (request, reply) => {
      if (!clusters.leads) {
        void reply.header('retry-after', 1)
        throw new RegentError('REGENT_NOT_LEADER', `another manager leads; this one does not take ${name}`)
      }
      const { cluster } = request.params
      request.log.info(
        { operation: name, cluster, body: request.body, from: request.ip },
        `${name} of ${cluster} was asked for`,
      )
      return run(cluster, request.body as Static<Body>)
    },
  )
}
