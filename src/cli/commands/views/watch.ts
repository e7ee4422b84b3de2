import { setTimeout as sleep } from 'node:timers/promises'
import { describeError, RegentError } from '#common/errors/errors.ts'
import type { Io } from '#cli/terminal/io.ts'
import type { Connection } from '#cli/connection/place.ts'

const reconnectMs = 1_000

/**
 * Calls `redraw` now and after every event of the cluster until Ctrl-C. A manager that goes away is said once and tried
 * again every second; a refusal (wrong token, no such cluster) ends it.
 */
export async function watchCluster(io: Io, { client, path }: Connection, redraw: () => Promise<void>): Promise<void> {
  const interrupted = io.interrupted()
  let lost = ''
  while (!interrupted.aborted) {
    try {
      for await (const event of client.events(`${path}/events`, interrupted)) {
        void event
        lost = ''
        await redraw()
      }
    } catch (error) {
      if (interrupted.aborted) return
      if (isFinal(error)) throw error
      if (lost !== describeError(error)) io.note(`${(lost = describeError(error))}; trying again every second`)
    }
    await sleep(reconnectMs, undefined, { signal: interrupted }).catch(() => undefined)
  }
}

function isFinal(error: unknown): boolean {
  return (
    error instanceof RegentError &&
    error.status >= 400 &&
    error.status < 500 &&
    error.code !== 'REGENT_TOO_MANY_REQUESTS'
  )
}
