import type { Server } from 'node:http'
import type { Logger } from '#common/log/logger.ts'
import type { RegentError } from '#common/errors/errors.ts'
import type { Timer, World } from '#common/ports/ports.ts'

interface Given {
  readonly world: World
  readonly log: Logger
  readonly whyBlind: () => RegentError | null
}

const lookMs = 100

/**
 * An agent that sees nothing of its host shows nothing. So the agent is unreachable for everybody, as an agent on a
 * machine that was lost, and a manager knows what to do then. A caller that asks is refused, and told why.
 */
export function endStreamsWhenBlind(
  server: Pick<Server, 'closeAllConnections'>,
  { world, log, whyBlind }: Given,
): Timer {
  let said = ''
  return world.timers.every(lookMs, () => {
    const why = whyBlind()?.message ?? ''
    if (why === said) return
    if (why === '') log.info('the host is seen again: the agent shows it')
    else log.warn(`neither the host nor its server is seen, and the agent shows nothing: ${why}`)
    if (said === '') server.closeAllConnections()
    said = why
  })
}
