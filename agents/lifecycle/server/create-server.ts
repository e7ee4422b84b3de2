import {
  fastify,
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  type HTTPMethods,
} from 'fastify'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { carriesToken } from '#common/http/bearer-token.ts'
import type { Logger } from '#common/log/logger.ts'
import { readActionRequest } from '../wire/action-request.ts'
import { responseOf, type ActionRequest, type ActionResult } from '../wire/calls.ts'
import { answerProblem, pathOf } from './answers.ts'
import { CallLimit } from './limit.ts'

export interface LifecycleServerOptions {
  /** Answers a call; undefined where the agent has no actions, and so no routes. Must not reject. */
  readonly call: ((request: ActionRequest) => Promise<ActionResult>) | undefined
  /** Asked of every request; undefined where everybody may call. */
  readonly token: string | undefined
  /** Calls at a time; more are answered with 503. */
  readonly maxConcurrency: number
  /** A line for each call. */
  readonly logsCalls: boolean
  readonly log: Logger
}

/** KubeBlocks' agent takes bodies of 4 MiB. */
const bodyBytes = 4 * 1024 * 1024
/** Connections are cheap, and a caller may keep one for each of its targets. */
const maxConnections = 1_024
/** For a request to come in, not for its answer. */
const requestTimeoutMs = 60_000

/** `POST /v1.0/…`; the services that take no requests are answered 500 with this name. */
const servicesWithoutRequests = { '/v1.0/probe': 'Probe', '/v1.0/streaming': 'Streaming' } as const

/**
 * The HTTP side of a lifecycle agent, ready for `listen` or `inject`. An action’s failure is a field of the answer,
 * whose status is 200. A caller that goes away cancels nothing.
 */
export async function createLifecycleServer(options: LifecycleServerOptions): Promise<FastifyInstance> {
  const loggerInstance: FastifyBaseLogger = options.log
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: bodyBytes,
    requestTimeout: requestTimeoutMs,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: answerProblem,
    schemaController: { compilersFactory: withoutSchemas },
  })
  app.server.maxConnections = maxConnections
  app.server.on('drop', () => options.log.warn(`a caller was hung up on: ${maxConnections} are connected`))
  app.setErrorHandler(answerProblem)
  app.setNotFoundHandler((request) => {
    throw new RegentError('REGENT_NOT_FOUND', say`there is no route ${request.method} ${pathOf(request)}`)
  })
  acceptAnyBody(app)
  const limit = new CallLimit(options.maxConcurrency)
  guard(app, options.token, limit)
  const outcomes: Outcomes = new WeakMap()
  if (options.logsCalls) logCalls(app, outcomes)
  if (options.call !== undefined) addRoutes(app, options.call, { limit, outcomes })
  await app.ready()
  return app
}

/**
 * No route has a schema. Fastify would load its compilers all the same, more than a hundred modules: an agent without
 * them takes less memory.
 */
const withoutSchemas = { buildValidator: noCompiler, buildSerializer: noCompiler }

function noCompiler(): never {
  throw new RegentError('REGENT_INTERNAL', say`a route of the lifecycle agent has a schema, and there is no compiler`)
}

/** Action and outcome of a call, for the log. Parameters and output stay out of the log: passwords are among them. */
type Outcomes = WeakMap<FastifyRequest, { readonly action: string; readonly error: string | undefined }>

interface Parts {
  readonly limit: CallLimit
  readonly outcomes: Outcomes
}

function addRoutes(
  app: FastifyInstance,
  call: NonNullable<LifecycleServerOptions['call']>,
  { limit, outcomes }: Parts,
): void {
  post(app, '/v1.0/action', async (body, request) => {
    const parsed = readActionRequest(body)
    const result = 'request' in parsed ? await limit.run(() => call(parsed.request)) : parsed.refused
    const action = 'request' in parsed ? parsed.request.action.slice(0, 253) : ''
    outcomes.set(request, { action, error: result.ok ? undefined : result.error })
    return { status: 200, text: JSON.stringify(responseOf(result)) }
  })
  for (const [path, name] of Object.entries(servicesWithoutRequests))
    post(app, path, async () => ({
      status: 500,
      text: `service ${name} does not support request handling: notImplemented`,
    }))
}

type Answer = (body: Uint8Array, request: FastifyRequest) => Promise<{ readonly status: number; readonly text: string }>

/** A route that takes POST, and answers every other method with 405. */
function post(app: FastifyInstance, path: string, answer: Answer): void {
  app.post(path, async (request, reply) => {
    const { status, text } = await answer((request.body as Buffer | undefined) ?? Buffer.alloc(0), request)
    // Bytes: to a text Fastify would add a charset, which KubeBlocks’ agent does not name.
    return reply.status(status).header('content-type', 'application/json').send(Buffer.from(text))
  })
  app.route({
    url: path,
    method: (app.supportedMethods as HTTPMethods[]).filter((method) => method !== 'POST'),
    onRequest: async (request, reply) => {
      void reply.header('allow', 'POST')
      throw new RegentError('REGENT_METHOD_NOT_ALLOWED', say`${path} takes POST, not ${request.method}`)
    },
    handler: async () => undefined,
  })
}

/**
 * Callers of KubeBlocks’ agent send any content type, none, or what is no type at all: bodies are read as JSON whatever
 * the type says. Fastify would refuse what it cannot read as a type.
 */
function acceptAnyBody(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ headers }) => {
    if (headers['content-type'] !== undefined) headers['content-type'] = 'application/json'
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}

/** The token first, then the number of calls at a time. Idle connections are not counted. */
function guard(app: FastifyInstance, token: string | undefined, limit: CallLimit): void {
  let stopping = false
  app.addHook('preClose', async () => {
    stopping = true
  })
  app.addHook('onRequest', async (request) => {
    if (stopping) throw new RegentError('REGENT_BUSY', say`this agent is stopping and takes no new calls`)
    if (token !== undefined && !carriesToken(request.headers.authorization, token))
      throw new RegentError(
        'REGENT_UNAUTHORIZED',
        say`${request.method} ${pathOf(request)} needs a valid bearer token: the one in this agent’s token file`,
      )
    limit.check()
  })
  // A connection that stays would hold up the end of the agent.
  app.addHook('onSend', async (_request, reply) => {
    if (stopping) void reply.header('connection', 'close')
  })
}

function logCalls(app: FastifyInstance, outcomes: Outcomes): void {
  app.addHook('onResponse', async (request, reply) => {
    const { method, headers, log } = request
    const caller = headers['user-agent']?.slice(0, 120)
    const ms = Math.round(reply.elapsedTime)
    const outcome = outcomes.get(request)
    log.info({ caller, method, path: pathOf(request), status: reply.statusCode, ...outcome, ms }, 'answered')
  })
}
