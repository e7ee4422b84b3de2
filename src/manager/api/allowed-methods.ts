import type { FastifyInstance, HTTPMethods } from 'fastify'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { pathOf } from './errors.ts'

/**
 * Makes every path of this scope answer a method it does not take with 405 and what it takes, instead of "no such
 * route". To be called before the scope's first route; gives the function to be called after its last.
 */
export function refuseOtherMethods(scope: FastifyInstance): () => void {
  const taken = new Map<string, Set<HTTPMethods>>()
  scope.addHook('onRoute', ({ routePath, method }) => {
    const methods = taken.get(routePath) ?? new Set()
    for (const each of [method].flat()) methods.add(each)
    taken.set(routePath, methods)
  })
  return () => {
    for (const [url, methods] of [...taken]) refuse(scope, url, [...methods])
  }
}

function refuse(scope: FastifyInstance, url: string, taken: readonly HTTPMethods[]): void {
  const refused = (scope.supportedMethods as HTTPMethods[]).filter((method) => !taken.includes(method))
  scope.route({
    url,
    method: refused,
    schema: { hide: true },
    // Here, not in the handler: the body of a request that is refused anyway is not to be complained about.
    onRequest: async (request, reply) => {
      void reply.header('allow', taken.join(', '))
      throw new RegentError(
        'REGENT_METHOD_NOT_ALLOWED',
        say`${pathOf(request)} takes ${taken.join(' and ')}, not ${request.method}`,
      )
    },
    handler: async () => undefined,
  })
}
