import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import {
  fastify,
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { codeOf, describeError, RegentError } from '#common/errors/errors.ts'
import type { Timers } from '#common/ports/ports.ts'
import type { Logger } from '#common/log/logger.ts'
import type { ClusterService } from '#manager/clusters/cluster-service.ts'
import { mayAsk, userIn, type Credentials } from './authorization.ts'
import type { HostNames } from './fleet/fleet.ts'
import type { Names } from './fleet/hints.ts'
import type { Hands } from './trees/hands.ts'
import { Turns } from './trees/turns.ts'
import { forwardedHeader, LeadingManager, type Forwarded } from './leading-manager.ts'
import { askedHeader, itself, Others } from './others.ts'
import { oneLine, plain, refused, type Answer } from './routes/answers.ts'
import { Background } from './routes/background.ts'
import { Call, type Route } from './routes/route.ts'
import { meantBy } from './routes/meant.ts'
import { pathsOf, routes } from './routes/table.ts'

export interface OrchestratorOptions {
  readonly clusters: ClusterService
  readonly log: Logger
  readonly timers: Timers
  readonly hostNames: HostNames
  /** Nothing is changed. */
  readonly readOnly: boolean
  /** What may be done with clusters that are only watched; absent where there are none. */
  readonly hands?: Hands
  /** Addresses of other managers that serve this interface: their clusters are answered for, too. */
  readonly also?: readonly string[]
  /** `host:port` of the manager that leads, where this manager does not lead and that address is known. */
  readonly leader?: () => string | undefined
  /** Asked for at each request. Everybody who reaches the port may ask unless given. */
  readonly credentials?: () => Promise<Credentials>
}

/** Below which all routes are. */
const root = '/api'
/** Longer names and reasons are refused. */
const longestParam = 1_000

/**
 * orchestrator’s HTTP interface over the clusters of this manager, ready for `listen` or `inject`: what scripts of
 * orchestrator’s users ask, in the shapes that these expect. Every answer is JSON, also of what is refused.
 */
export async function createOrchestrator(options: OrchestratorOptions): Promise<FastifyInstance> {
  const loggerInstance: FastifyBaseLogger = options.log
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: 1_024,
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: longestParam },
    frameworkErrors: (error, request, reply) => answerError(error, request, reply),
  })
  app.setErrorHandler(answerError)
  app.setNotFoundHandler((request, reply) => {
    send(
      reply,
      refused(
        `there is no route ${request.method} ${pathOf(request)}; see docs/reference/orchestrator-api.md`,
        null,
        404,
      ),
    )
  })
  app.addHook('onRequest', async ({ headers: { authorization } }, reply) => {
    if (mayAsk(authorization, await options.credentials?.())) return
    void reply.header('www-authenticate', 'Basic realm="regent"')
    send(reply, refused('Unauthorized', null, 401))
    await reply
  })
  const others = new Others(options.also ?? [], options.log)
  app.addHook('onRequest', async ({ headers }, reply) => {
    if (!others.isItself(headers)) return
    send(reply, refused(itself))
    await reply
  })
  // Clients look first whether anybody is there, by whatever address they were given. A look changes nothing.
  app.head('*', async (_, reply) => reply.status(200).type('application/json').send())
  app.get(root, async (_, reply) => send(reply, plain('OK')))
  const leading = new LeadingManager(() => options.leader?.(), options.log)
  const parts = { ...options, others, leading, turns: new Turns(), background: new Background(options.log) }
  for (const route of routes) for (const path of pathsOf(route)) serve(app, `${root}/${path}`, route, parts)
  await app.ready()
  return app
}

interface Parts extends OrchestratorOptions {
  readonly others: Others
  readonly leading: LeadingManager
  readonly turns: Turns
  readonly background: Background
}

type Said = Readonly<Record<string, string | readonly string[]>>

function serve(app: FastifyInstance, url: string, route: Route, options: Parts): void {
  app.get<{ Params: Record<string, string>; Querystring: Record<string, string | string[]> }>(
    url,
    async ({ params, query, headers, ip, url: asked }, reply) => {
      const request = { route, url: asked, headers, ip }
      const led = mayHandOn(route, options) ? await options.leading.answer(request) : undefined
      return send(reply, led ?? (await answerHere({ ...request, params, query }, options)))
    },
  )
}

async function answerHere(asked: Forwarded & { readonly params: Said; readonly query: Said }, options: Parts) {
  const { clusters, hostNames, log, timers, hands, others, turns, background, also = [] } = options
  const { route, url, headers, ip } = asked
  // Kept with what is done, where reasons are one line of 200 characters.
  const who = oneLine(userIn(headers.authorization), 100) || forwardedFor(headers) || ip
  const isChange = route.changes === true
  const no = isChange ? whyNot(options) : null
  if (no !== null) return refused(no)
  const command = route.path.split('/')[0]
  if (isChange) log.info({ path: url.slice(0, 200), from: ip, who }, `orchestrator’s ${command} was asked for`)
  const said = { params: trimmed(asked.params), query: trimmed(asked.query) }
  const call = new Call(
    clusters,
    { hosts: hostNames, names: namesFor(headers, also), isChange },
    { ...said, who, timers, hands, turns, background },
  )
  const { at, why } = await others.whose(isChange ? meantBy(call) : undefined, headers)
  if (why !== undefined) return refused(why)
  if (at !== undefined) return others.askAt(at, asked)
  return others.complete(await answered(route, call.look()), asked)
}

/** Among the clusters of several managers a part of a name is not enough. */
function namesFor(headers: IncomingHttpHeaders, also: readonly string[]): Names {
  return also.length > 0 || headers[askedHeader] !== undefined ? 'exact' : 'parts'
}

/** By the manager that was asked first; '' for nobody. */
function forwardedFor({ [forwardedHeader]: ip }: IncomingHttpHeaders): string {
  return typeof ip === 'string' && isIP(ip) !== 0 ? ip : ''
}

/** A refusal is an answer, too: another manager may know who was meant. */
async function answered(route: Route, call: Call): Promise<Answer> {
  try {
    return await route.answer(call)
  } catch (error) {
    if (error instanceof RegentError && codeOf(error) !== 'REGENT_INTERNAL') return refused(describeError(error))
    throw error
  }
}

/** To the manager that leads. What is forbidden here is done nowhere. */
function mayHandOn({ changes, ofManager }: Route, { clusters, readOnly }: OrchestratorOptions): boolean {
  return !clusters.leads && ofManager !== true && !(readOnly && changes === true)
}

/** The word that scripts know where somebody may not. */
function whyNot({ readOnly, clusters }: OrchestratorOptions): string | null {
  if (readOnly) return 'Unauthorized'
  return clusters.leads ? null : 'Not leader: another manager leads; leader-check answers 200 there'
}

/** Clients encode a line feed at the end of what they send. */
function trimmed(said: Said): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(said).map(([name, value]) => [name, (typeof value === 'string' ? value : (value[0] ?? '')).trim()]),
  )
}

/** As bytes: of a text of a megabyte the length is counted first, and the text encoded afterwards. */
function send(reply: FastifyReply, { status, body }: Answer): FastifyReply {
  return reply
    .status(status)
    .type('application/json; charset=utf-8')
    .send(Buffer.from(JSON.stringify(body)))
}

function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (thrown instanceof RegentError && codeOf(thrown) !== 'REGENT_INTERNAL') {
    send(reply, refused(describeError(thrown)))
    return
  }
  const { statusCode = 500 } = thrown as { readonly statusCode?: number }
  if (statusCode < 500) {
    send(reply, refused(`the request is not understood: ${describeError(thrown).slice(0, 200)}`, null, statusCode))
    return
  }
  request.log.error({ err: thrown, path: pathOf(request) }, 'a request failed unexpectedly')
  send(reply, refused(`${pathOf(request)} could not be answered; the log of the manager says why`))
}

function pathOf({ url }: FastifyRequest): string {
  return (url.split('?', 1)[0] ?? '').slice(0, 200)
}
