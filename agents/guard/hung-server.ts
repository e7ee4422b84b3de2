import { say } from '#common/sentence/sentence.ts'
import { hungMs } from '#failover/protocol/timings.ts'
import type { Watch } from '#common/watch/watch.ts'
import type { Parts } from '../instance/parts.ts'

/** A server that hangs again is left for a person to look at, for so long. */
const betweenMs = 300_000

type HungServerWatchParts = Pick<
  Parts,
  'config' | 'file' | 'notices' | 'observer' | 'process' | 'timings' | 'told' | 'world'
>

/**
 * Ends a mysqld that runs and has answered nothing for half a minute; the converger starts it again. A replica that
 * hangs (two statements that wait for each other are enough) acknowledges nothing and never comes back by itself. A
 * primary is ended only where its manager allows the server to start again in place, because nobody can take over: else
 * the manager and the lease of the primary see to that, and the server is a replica once another one is primary. Such a
 * primary is ended too where it was stopped (SIGSTOP), and soon: a failover would have ended it as soon, and what its
 * files say may let one go on. A server that only SQL reaches is named, and left to a person.
 */
export class HungServerWatch implements Watch {
  readonly name = 'a server that hangs'
  readonly failure = { code: 'HungServer', sentence: say`mysqld hangs and could not be ended` }
  readonly #parts: HungServerWatchParts
  #endedAtMs = -Infinity

  constructor(parts: HungServerWatchParts) {
    this.#parts = parts
  }

  async look(): Promise<void> {
    const { process, observer, config, notices, world } = this.#parts
    const { freeBytes } = observer
    // A server that waits for space goes on by itself, and has none to start with.
    const hasSpace = freeBytes === null || freeBytes >= config.lowSpaceBytes
    if (!hasSpace || !(this.#hangs() || this.#isStoppedForGood())) return
    this.#endedAtMs = world.clock.monotonicMs()
    const silentMs = process.state === 'stopped' ? this.#endedAtMs - process.changedAtMs : observer.silentMs
    const silent = say`mysqld has answered nothing for ${Math.round(silentMs / 1_000)} s`
    if (process.isClosedBySql === true)
      return notices.add('HungServer', say`${silent}, and only SQL reaches its host: end mysqld there by hand`)
    notices.add('HungServer', say`${silent} and is started again`)
    await process.kill()
  }

  #hangs(): boolean {
    const { file, process, observer, world, told } = this.#parts
    const mayEnd = file.current.assignment?.role === 'replica' || told.mayRestart
    const wasEnded = world.clock.monotonicMs() - this.#endedAtMs < betweenMs
    return mayEnd && process.state === 'running' && observer.silentMs >= hungMs && !wasEnded
  }

  #isStoppedForGood(): boolean {
    const { file, process, world, timings, told } = this.#parts
    const mayEnd = file.current.assignment?.role === 'primary' && told.mayRestart
    const stoppedMs = world.clock.monotonicMs() - process.changedAtMs
    return mayEnd && process.state === 'stopped' && stoppedMs >= timings.frozenMs
  }
}
