import type { Clock, Timers } from '#common/ports/ports.ts'
import type { XcomLine } from './line.ts'
import { isSame } from './may-remove.ts'
import { isLater, newestConfiguration, type Answer, type ClientReply } from './messages.ts'
import type { GroupSnapshot, MemberIdentity, Synode } from './messages.ts'

export interface Watched {
  readonly connection: XcomLine
  /** What this member said before the removal was asked for. */
  readonly before: ClientReply
  readonly victim: MemberIdentity
  readonly ask: () => Promise<Answer>
  readonly untilMs: number
  /** Another member has shown the configuration without the victim: nobody is asked again. */
  readonly isInForce: () => boolean
  /** Another connection to the same member. */
  readonly open: () => Promise<XcomLine>
}

export interface WatchTimings {
  /** For a member to say how far it is, or what it knows. */
  readonly stateMs: number
  /** A member that has not carried the removal out is asked again after so long … */
  readonly askAgainMs: number
  /** … and so many times at most, the first among them. */
  readonly mostAsks: number
  /** Between two looks at how far a member is. */
  readonly lookMs: number
  /** Before a poke that came too early is repeated. */
  readonly pokeAgainMs: number
  readonly mostPokes: number
}

interface Means {
  readonly clock: Clock
  readonly timers: Timers
  readonly timings: WatchTimings
}

/**
 * A removal that is agreed on waits twice. First the members fill the dead one’s turns in the log, which `delivered`
 * shows. Then Group Replication hears of the new configuration by a message that the detector of its first member sends
 * at its next tick, within a second. A question for a snapshot makes that member send it at once: the *poke*.
 *
 * How long the turns take is XCom's affair. XCom waits for a dead member's message 2.4 d, or 4.4 d where that was the
 * oldest, before it fills the turn. d is 0.1 s and five to six times the median time to agreement, which each member
 * measures by its own messages: 0.25 s and 0.46 s. `FirstMessages` sees to it that a member that has just come has
 * measured: before, it was 1.6 s and 2.9 s.
 *
 * Resolves to whether this member showed the configuration without the victim in force. The removal is asked for again
 * where a member takes long. Never rejects.
 */
export async function seeThrough(watched: Watched, means: Means): Promise<boolean> {
  // The member sends its cache after a snapshot: it must not stand in the way of the looks. And a new connection is
  // taken within 100 ms only, so it is made meanwhile.
  const spare = watched.open().catch(() => null)
  try {
    return await new Watch(watched, spare, means).run()
  } catch {
    // The member is gone, or does not answer: then it shows nothing.
    return false
  } finally {
    void spare.then((connection) => connection?.close())
  }
}

class Watch {
  readonly #watched: Watched
  readonly #spare: Promise<XcomLine | null>
  readonly #means: Means
  #asks = 1
  #pokes = 0
  #askedMs: number

  constructor(watched: Watched, spare: Promise<XcomLine | null>, means: Means) {
    this.#watched = watched
    this.#spare = spare
    this.#means = means
    this.#askedMs = means.clock.monotonicMs()
  }

  async run(): Promise<boolean> {
    const { connection, before, untilMs } = this.#watched
    const { clock, timers, timings } = this.#means
    while (clock.monotonicMs() < untilMs && this.#pokes < timings.mostPokes) {
      const state = await connection.state(timings.stateMs)
      if (hasPassed(before, state)) {
        if (await this.#poke(state.delivered)) return true
        await timers.sleep(timings.pokeAgainMs)
      } else {
        await this.#askAgain()
        await timers.sleep(timings.lookMs)
      }
    }
    return false
  }

  async #poke(delivered: Synode): Promise<boolean> {
    this.#pokes += 1
    const line = (await this.#spare) ?? this.#watched.connection
    const snapshot = await line.snapshot(delivered, this.#means.timings.stateMs)
    return isWithout(this.#watched.victim, snapshot, delivered)
  }

  /** A member that has carried it out refuses; one where it was lost takes it. */
  async #askAgain(): Promise<void> {
    const { clock, timings } = this.#means
    if (this.#watched.isInForce() || this.#asks >= timings.mostAsks) return
    if (clock.monotonicMs() - this.#askedMs < timings.askAgainMs) return
    this.#asks += 1
    this.#askedMs = clock.monotonicMs()
    await this.#watched.ask()
  }
}

/**
 * Whether a configuration that was agreed on after `before` is in force: so many messages later it begins. A delivered
 * newest message shows also that the turns of the dead member are filled.
 */
export function hasPassed(before: ClientReply, now: ClientReply): boolean {
  const start = before.delivered.message + BigInt(now.eventHorizon)
  return now.delivered.message > start && now.delivered.message >= now.newest.message
}

/** Whether the newest configuration has begun, and the victim is not in it. */
export function isWithout(victim: MemberIdentity, { configurations }: GroupSnapshot, delivered: Synode): boolean {
  const newest = newestConfiguration(configurations)
  if (newest === undefined || isLater(newest.start, delivered)) return false
  return !newest.members.some((member) => isSame(member, victim))
}
