import type { FastifyInstance } from 'fastify'
import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

/** Bodies are JSON in UTF-8 and nothing else. Fastify's own parser would replace bytes that are no UTF-8 in silence. */
export function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      done(null, parseBody(request.headers['content-type'] ?? '', body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
}

function parseBody(contentType: string, body: Buffer): unknown {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`the content type says charset ${charset.slice(0, 40)}; bodies are UTF-8`,
    )
  }
  if (body.length === 0) return undefined
  return parseJson(decode(body))
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (cause) {
    throw new RegentError('REGENT_BAD_REQUEST', say`the body is not UTF-8`, { cause })
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new RegentError('REGENT_BAD_REQUEST', say`the body is not JSON: ${described(cause)}`, { cause })
  }
}
