import type { Server } from 'node:http'
import type { Logger } from '#common/log/logger.ts'
import { describeError } from '#common/errors/errors.ts'
import type { Timer, World } from '#common/ports/ports.ts'

interface Given {
  readonly world: World
  readonly log: Logger
  readonly isBlind: () => boolean
  readonly listen: () => Promise<void>
}

const lookMs = 100

/**
 * An agent that sees nothing of its host says nothing: then it is unreachable for everybody, as an agent on a machine
 * that was lost, and whoever judges that knows what to do.
 */
export function keepSilentWhileBlind(server: Server, { world, log, isBlind, listen }: Given): Timer {
  let isSilent = false
  return world.timers.every(lookMs, () => {
    if (isBlind() === isSilent) return
    isSilent = !isSilent
    if (isSilent) {
      log.warn('neither the host nor its server is seen: the agent is silent')
      server.close()
      server.closeAllConnections()
    } else {
      log.info('the host is seen again: the agent speaks')
      listen().catch((error: unknown) => log.error(`the agent cannot listen again: ${describeError(error)}`))
    }
  })
}
