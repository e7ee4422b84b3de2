import { fastifyRateLimit } from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

/**
 * Refuses a client address that asks more often than `perSecond`, before anything else is looked at, so that guessing
 * tokens and paths is limited too. Paths in `exempt` are always answered.
 */
export async function limitRate(app: FastifyInstance, perSecond: number, exempt: readonly string[]): Promise<void> {
  await app.register(fastifyRateLimit, { global: false, max: perSecond, timeWindow: 1_000 })
  const count = app.createRateLimit()
  app.addHook('onRequest', async (request, reply) => {
    if (exempt.includes(request.routeOptions.url ?? '')) return
    const used = await count(request)
    if (used.isAllowed || !used.isExceeded) return
    void reply.header('retry-after', Math.max(1, used.ttlInSeconds))
    throw new RegentError(
      'REGENT_TOO_MANY_REQUESTS',
      say`more than ${perSecond} requests within a second came from ${used.key}`,
    )
  })
}
