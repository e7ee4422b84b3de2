import type { FastifyInstance } from 'fastify'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { EventStreams } from './event-streams.ts'

/**
 * Makes `app.close()` refuse new requests, end the event streams, and wait `waitMs` at most for what is under way.
 * `/healthz` goes on answering: a manager that stops is not one to be killed.
 */
export function stopGracefully(app: FastifyInstance, streams: EventStreams, waitMs: number): void {
  let stopping = false
  let giveUp: NodeJS.Timeout | undefined

  app.addHook('onRequest', async (request, reply) => {
    if (!stopping || request.routeOptions.url === '/healthz') return
    void reply.header('connection', 'close').header('retry-after', 1)
    throw new RegentError('REGENT_SHUTTING_DOWN', say`this manager is stopping and takes no new requests`)
  })
  app.addHook('preClose', async () => {
    stopping = true
    streams.endAll()
    giveUp = setTimeout(() => app.server.closeAllConnections(), waitMs)
  })
  app.addHook('onClose', async () => clearTimeout(giveUp))
}
