import type { Parts } from '../instance/parts.ts'

/** Longer than a busy machine, a full disk's first minute aside, keeps a server from answering. */
const hungMs = 30_000
/** A server that hangs again is left for a person to look at, for so long. */
const betweenMs = 300_000

/**
 * Ends a mysqld that runs and has answered nothing for half a minute; the converger starts it again. A replica that
 * hangs (two statements that wait for each other are enough) acknowledges nothing and never comes back by itself. A
 * primary only where its manager allows it to start again in place, because nobody can take over: else that is for
 * whoever leads and for its lease, and it is a replica once another one is primary.
 */
export class HungServerWatch {
  readonly #parts: Parts
  #endedAtMs = -Infinity

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async look(): Promise<void> {
    const { file, process, observer, config, notices, world, told } = this.#parts
    const nowMs = world.clock.monotonicMs()
    const { silentMs, freeBytes } = observer
    // A server that waits for space goes on by itself, and has none to start with.
    const hasSpace = freeBytes === null || freeBytes >= config.lowSpaceBytes
    const mayEnd = file.current.assignment?.role === 'replica' || told.mayRestart
    if (!mayEnd || process.state !== 'running' || silentMs < hungMs || !hasSpace || nowMs - this.#endedAtMs < betweenMs)
      return
    this.#endedAtMs = nowMs
    notices.add('HungServer', `mysqld has answered nothing for ${Math.round(silentMs / 1_000)} s and is started again`)
    await process.kill()
  }
}
