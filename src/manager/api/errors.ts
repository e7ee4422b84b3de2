import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Socket } from 'node:net'
import type { Place } from '#common/sentence/command.ts'
import { codeOf, RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { problemContentType, problemOf } from '#common/http/problem.ts'

/** Answers any thrown value with its problem document. What is unexpected is logged with everything known of it. */
export const answerProblemIn =
  (where: Place['kind']) =>
  (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const error = translated(thrown, request)
    const problem = problemOf(error, pathOf(request), where)
    if (codeOf(error) === 'REGENT_INTERNAL')
      request.log.error({ err: error, method: request.method, path: problem.instance }, 'a request failed unexpectedly')
    if (problem.status === 401) void reply.header('www-authenticate', 'Bearer realm="regent"')
    void reply.status(problem.status).type(problemContentType).send(JSON.stringify(problem))
  }

/** For requests that no route takes. */
export function answerNotFound(request: FastifyRequest): never {
  throw new RegentError(
    'REGENT_NOT_FOUND',
    say`there is no route ${request.method} ${pathOf(request)}; /api/v1/openapi.json lists those there are`,
  )
}

/** The path of a request, without its query, shortened where it is huge. */
export function pathOf(request: FastifyRequest): string {
  return (request.url.split('?', 1)[0] ?? '').slice(0, 200)
}

/** Fastify's own errors in the words of the catalogue. */
function translated(thrown: unknown, request: FastifyRequest): unknown {
  if (thrown instanceof RegentError || !(thrown instanceof Error)) return thrown
  const { code, statusCode } = thrown as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new RegentError('REGENT_TOO_LARGE', say`the body is larger than ${request.routeOptions.bodyLimit} bytes`, {
      cause: thrown,
    })
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    const given = request.headers['content-type']?.slice(0, 80)
    return new RegentError(
      'REGENT_BAD_REQUEST',
      say`the content type is ${given === undefined ? say`missing` : JSON.stringify(given)}; allowed is application/json`,
      { cause: thrown },
    )
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new RegentError('REGENT_BAD_REQUEST', say`${reported(thrown.message.slice(0, 300))}`, { cause: thrown })
  return thrown
}

/** Answers what is not even HTTP, or came too slowly, and closes the connection. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const code = error.code === 'HPE_HEADER_OVERFLOW' ? 'REGENT_TOO_LARGE' : 'REGENT_BAD_REQUEST'
  const problem = problemOf(
    new RegentError(code, say`the request could not be read as HTTP (${error.code ?? say`no code`})`),
    '/',
  )
  const body = JSON.stringify(problem)
  socket.end(
    `HTTP/1.1 ${problem.status} ${problem.title}\r\nContent-Type: ${problemContentType}\r\nContent-Length: ` +
      `${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
