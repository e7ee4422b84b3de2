import { describeError } from '#common/errors/errors.ts'
import type { Logger } from '#common/log/logger.ts'
import type { Timers } from '#common/ports/ports.ts'
import type { ListenAddress } from '../options/listen-address.ts'
import { plainServer, type PlainAnswer, type PlainServer } from './plain.ts'

export interface HealthCheck {
  readonly name: string
  /** Gives, or throws, a sentence about what is wrong; undefined while all is well. */
  readonly check: () => string | undefined | Promise<string | undefined>
}

export interface HealthServerParts {
  readonly address: ListenAddress
  /** While one of these fails the kubelet restarts the process: only what a restart would mend. */
  readonly alive: readonly HealthCheck[]
  /** While one of these fails nobody is sent here, and a rollout waits. */
  readonly ready: readonly HealthCheck[]
  readonly timers: Timers
  readonly log: Logger
}

/**
 * Less than the second a kubelet waits unless told otherwise: a check that hangs is to be named, not to become a
 * time-out.
 */
const checkDeadlineMs = 800

/** `/healthz` and `/readyz` for the kubelet, with a line for each check: yes is 200, no is 503. */
export function healthServer(parts: HealthServerParts): PlainServer {
  const { address, alive, ready, timers, log } = parts
  const routes = { '/healthz': () => answerOf(alive, timers), '/readyz': () => answerOf(ready, timers) }
  return plainServer({ name: 'health server', address, option: '--health-port', routes, log })
}

async function answerOf(checks: readonly HealthCheck[], timers: Timers): Promise<PlainAnswer> {
  const troubles = await Promise.all(checks.map((check) => troubleOf(check, timers)))
  const lines = checks.map(({ name }, at) => `${name}: ${troubles[at] ?? 'ok'}\n`)
  const isWell = troubles.every((trouble) => trouble === undefined)
  return { status: isWell ? 200 : 503, body: `${lines.join('')}${isWell ? 'ok' : 'failed'}\n` }
}

async function troubleOf({ check }: HealthCheck, timers: Timers): Promise<string | undefined> {
  const over = new AbortController()
  const tooLate = timers.sleep(checkDeadlineMs, over.signal).then(() => `no answer after ${checkDeadlineMs} ms`)
  try {
    return await Promise.race([check(), tooLate])
  } catch (error) {
    return describeError(error)
  } finally {
    tooLate.catch(() => undefined)
    over.abort()
  }
}
