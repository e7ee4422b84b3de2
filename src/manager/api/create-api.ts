import {
  fastify,
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  type FastifyServerFactory,
} from 'fastify'
import { carriesToken } from '#common/http/bearer-token.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Logger } from '#common/log/logger.ts'
import { createTlsServer } from '#common/tls/tls-server.ts'
import type { Place } from '#common/sentence/command.ts'
import type { CertificateSource } from '#common/tls/tls.ts'
import type { ClusterParams } from '#api-contract/path-params.ts'
import type { ClusterService } from '../clusters/cluster-service.ts'
import type { ManagerMetrics } from '../clusters/metrics.ts'
import { refuseOtherMethods } from './allowed-methods.ts'
import { backupRoutes } from './backup-routes.ts'
import { clusterRoutes } from './cluster-routes.ts'
import { answerBrokenRequest, answerNotFound, answerProblemIn, pathOf } from './errors.ts'
import { eventRoutes, eventsPath } from './event-routes.ts'
import { createEventStreams, type EventStreams } from './event-streams.ts'
import { healthRoutes, openPaths } from './health-routes.ts'
import { acceptJsonOnly } from './json-body.ts'
import { documentRoutes, openApiRoute } from './openapi.ts'
import { operationRoutes } from './operation-routes.ts'
import { limitRate } from './rate-limit.ts'
import { recoveryRoutes } from './recovery-routes.ts'
import { stopGracefully } from './shutdown.ts'
import { validateAsItCame } from './validation.ts'

export interface ApiLimits {
  /** Per client address. */
  readonly requestsPerSecond: number
  readonly bodyBytes: number
  /** Server-sent event streams at a time. */
  readonly eventStreams: number
  readonly heartbeatMs: number
  /**
   * Time that requests under way get when the manager stops. A local supervisor kills the manager after 5 s: before
   * that, notes are to be written and the lead is to be given back.
   */
  readonly shutdownMs: number
}

const defaultLimits: ApiLimits = {
  requestsPerSecond: 50,
  bodyBytes: 65_536,
  eventStreams: 64,
  heartbeatMs: 2_000,
  shutdownMs: 3_000,
}

const requestTimeoutMs = 10_000

export interface ApiOptions {
  readonly clusters: ClusterService
  /** Asked of every request under /api; `readTokenFile` reads it. */
  readonly token: string
  /** The token with which a cluster may be watched, and nothing else be asked; undefined for none. */
  readonly watcherOf?: (cluster: string) => string | undefined
  readonly log: Logger
  readonly metrics: ManagerMetrics
  /** Where those who read its errors are: on this machine unless given. */
  readonly where?: Place['kind']
  readonly limits?: Partial<ApiLimits>
  /** HTTPS with these; plain HTTP unless given. The certificates must be there now. */
  readonly certificates?: CertificateSource
}

/**
 * The manager's HTTP side, ready for `listen` or `inject`. `close` takes no new requests, ends the event streams and
 * waits for what is under way.
 */
export async function createApi(options: ApiOptions): Promise<FastifyInstance> {
  const limits = { ...defaultLimits, ...options.limits }
  const streams = createEventStreams(limits.heartbeatMs)
  const loggerInstance: FastifyBaseLogger = options.log
  const answerProblem = answerProblemIn(options.where ?? 'local')
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: limits.bodyBytes,
    requestTimeout: requestTimeoutMs,
    ...(options.certificates && { serverFactory: httpsWith(options.certificates) }),
    return503OnClosing: false,
    frameworkErrors: answerProblem,
    clientErrorHandler: answerBrokenRequest,
  })
  app.setErrorHandler(answerProblem)
  app.setNotFoundHandler(answerNotFound)
  app.setValidatorCompiler(validateAsItCame)
  acceptJsonOnly(app)
  logAnswers(app)
  stopGracefully(app, streams, limits.shutdownMs)
  await limitRate(app, limits.requestsPerSecond, openPaths)
  await documentRoutes(app)
  const refuse = refuseOtherMethods(app)
  healthRoutes(app, options.clusters, options.metrics)
  refuse()
  await app.register(async (scope) => guardedRoutes(scope, options, { streams, limit: limits.eventStreams }), {
    prefix: '/api/v1',
  })
  await app.ready()
  return app
}

/** Anything may call, a browser too, so not only by the newest TLS. */
function httpsWith(certificates: CertificateSource): FastifyServerFactory {
  return (handler) =>
    createTlsServer(certificates, { minVersion: 'TLSv1.2', requestTimeout: requestTimeoutMs }, handler)
}

function guardedRoutes(
  scope: FastifyInstance,
  { clusters, token, watcherOf }: ApiOptions,
  events: { streams: EventStreams; limit: number },
): void {
  scope.addHook('onRequest', async (request) => {
    if (!carriesToken(request.headers.authorization, token) && !mayWatch(request, watcherOf)) {
      throw new RegentError(
        'REGENT_UNAUTHORIZED',
        request.headers.authorization === undefined
          ? say`the request carries no token`
          : say`the token is not the manager’s`,
      )
    }
  })
  // A query would be ignored; somebody who wrote ?dryRun=true must not be surprised by that.
  scope.addHook('onRequest', async (request) => {
    const [key] = Object.keys(request.query as object)
    if (key !== undefined)
      throw new RegentError(
        'REGENT_BAD_REQUEST',
        say`"${key.slice(0, 60)}" in the query is not understood; options go into the body, as JSON`,
      )
  })
  scope.setNotFoundHandler(answerNotFound)
  const refuse = refuseOtherMethods(scope)
  clusterRoutes(scope, clusters)
  backupRoutes(scope, clusters)
  recoveryRoutes(scope, clusters)
  eventRoutes(scope, clusters, events.streams, events.limit)
  operationRoutes(scope, clusters)
  openApiRoute(scope)
  refuse()
}

/** A router has the token of its cluster's agents: the state of that cluster is all it is told. */
function mayWatch(request: FastifyRequest, watcherOf: ApiOptions['watcherOf']): boolean {
  if (request.routeOptions.url !== `/api/v1${eventsPath}`) return false
  const token = watcherOf?.((request.params as ClusterParams).cluster)
  return token !== undefined && carriesToken(request.headers.authorization, token)
}

/** What changes something is worth a line each; what only reads is not, unless asked for. */
function logAnswers(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const level = request.method === 'POST' ? 'info' : 'debug'
    request.log[level](
      { method: request.method, path: pathOf(request), status: reply.statusCode, ms: Math.round(reply.elapsedTime) },
      'answered',
    )
  })
}
