import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { codeOf, RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { problemContentType, problemOf, type Problem } from '#common/http/problem.ts'

/** Answers what no route answers: a problem document, as every error of Regent has. */
export function answerProblem(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = translated(thrown, request)
  const problem = lifecycleProblem(error, pathOf(request))
  if (codeOf(error) === 'REGENT_INTERNAL')
    request.log.error({ err: error, method: request.method, path: problem.instance }, 'a request failed unexpectedly')
  if (problem.status === 401) void reply.header('www-authenticate', 'Bearer realm="regent"')
  if (problem.status === 413 || problem.status === 503) void reply.header('connection', 'close')
  void reply.status(problem.status).type(problemContentType).send(JSON.stringify(problem))
}

/** The catalogue names the token of the manager’s API, which opens nothing here. */
const ownToken =
  'Send "Authorization: Bearer <token>" with the token in the file that --token-file names; beside ' +
  'a mysqld, the file that lifecycle.tokenFile of the agent’s configuration names.'

function lifecycleProblem(error: unknown, path: string): Problem {
  const problem = problemOf(error, path, 'kubernetes')
  return problem.code === 'REGENT_UNAUTHORIZED' ? { ...problem, remedy: ownToken } : problem
}

/** The path of a request, without its query, shortened where it is huge. */
export function pathOf(request: FastifyRequest): string {
  return (request.url.split('?', 1)[0] ?? '').slice(0, 200)
}

/** Fastify's own errors in the words of the catalogue. */
function translated(thrown: unknown, request: FastifyRequest): unknown {
  if (thrown instanceof RegentError || !(thrown instanceof Error)) return thrown
  const { code, statusCode } = thrown as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new RegentError('REGENT_TOO_LARGE', say`the body is larger than ${request.routeOptions.bodyLimit} bytes`, {
      cause: thrown,
    })
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new RegentError('REGENT_BAD_REQUEST', say`${reported(thrown.message.slice(0, 300))}`, { cause: thrown })
  return thrown
}
