import { say, text } from '#common/sentence/sentence.ts'
import { lasting, duration } from '#common/text/words.ts'
import type { Watch } from '#common/watch/watch.ts'
import type { Parts } from '../instance/parts.ts'
import { ownMember } from '#topology/group/majority.ts'

/** A primary that answers nothing again so soon is left to the group, and for a person to look at. */
const betweenMs = 300_000

type FrozenWatchParts = Pick<Parts, 'config' | 'notices' | 'observer' | 'process' | 'timings' | 'world'>

/**
 * Ends a mysqld that can do nothing for its group while the others are a majority: a member that was stopped (SIGSTOP),
 * and a primary that answers neither its agent nor a write. The group elects without a dead member sooner than it gives
 * a silent one up, and one that woke later would answer from the past. Its server starts again, closed, and joins.
 * Where the others are no majority nobody is helped by its end: it may be needed. While the group elects, the channels
 * of its members are locked, and a server answers no question about them: that is no silence.
 */
export class FrozenWatch implements Watch {
  readonly name = 'a member that is frozen'
  readonly failure = { code: 'HungServer', sentence: say`mysqld is frozen and could not be ended` }
  readonly #parts: FrozenWatchParts
  #endedAtMs = -Infinity
  #electing = false
  #electedAtMs = -Infinity

  constructor(parts: FrozenWatchParts) {
    this.#parts = parts
  }

  async look(): Promise<void> {
    const { process, notices, world, observer, config } = this.#parts
    const why = this.#whyFrozen()
    // A server that waits for space goes on by itself, and has none to start with.
    const hasSpace = observer.freeBytes === null || observer.freeBytes >= config.lowSpaceBytes
    if (why === null || !hasSpace || !this.#othersAreMajority()) return
    if (process.state === 'running') this.#endedAtMs = world.clock.monotonicMs()
    notices.add(
      'HungServer',
      say`mysqld ${text(why)} while the others are a majority of its group: it is ended, and joins again`,
    )
    await process.kill()
  }

  /** Rejects as `elect` does. */
  async whileElecting(elect: () => Promise<void>): Promise<void> {
    this.#electing = true
    try {
      await elect()
    } finally {
      this.#electing = false
      this.#electedAtMs = this.#parts.world.clock.monotonicMs()
    }
  }

  #whyFrozen(): string | null {
    const { process, timings, observer, world } = this.#parts
    const nowMs = world.clock.monotonicMs()
    if (process.state === 'stopped') {
      const stoppedMs = nowMs - process.changedAtMs
      return stoppedMs >= timings.stoppedMs ? `was stopped (SIGSTOP) ${duration(stoppedMs)} ago` : null
    }
    const { probe } = observer
    const silentMs = this.#electing ? 0 : Math.min(observer.silentMs, nowMs - this.#electedAtMs)
    const writes = probe.result !== 'stuck' && probe.result !== 'unknown'
    if (process.state !== 'running' || writes || silentMs < timings.frozenMs || !this.#wasPrimary()) return null
    return nowMs - this.#endedAtMs < betweenMs ? null : `has answered nothing ${lasting(silentMs)}`
  }

  #wasPrimary(): boolean {
    const { server } = this.#parts.observer
    return server?.group !== undefined && ownMember(server.group, server.uuid)?.role === 'PRIMARY'
  }

  /** By the last view that it told of. */
  #othersAreMajority(): boolean {
    const { server } = this.#parts.observer
    if (server?.group?.state !== 'ONLINE') return false
    const { members } = server.group
    const others = members.filter(({ uuid, state }) => uuid !== server.uuid && state === 'ONLINE')
    return others.length * 2 > members.length
  }
}
