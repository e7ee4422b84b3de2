import type { Clock, Timer, Timers } from '#common/ports/ports.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import type { OpenLine, XcomLine } from './line.ts'
import { isSame, type KnownGroup } from './may-remove.ts'
import { isLater, newestConfiguration, type MemberIdentity } from './messages.ts'
import type { Through } from './removal.ts'

export interface MembershipOptions {
  readonly open: OpenLine
  readonly clock: Clock
  readonly timers: Timers
}

/** What SQL says of the members besides. */
export type GroupFacts = Pick<KnownGroup, 'versions' | 'singleLeader'>

export interface MembershipTimings {
  readonly openMs: number
  readonly answerMs: number
  /** Between two questions on a connection that is kept; also between two attempts to open one. */
  readonly beatMs: number
}

/**
 * A member that does not answer within `answerMs` is asked on a new connection: a busy XCom was seen to need a second.
 */
export const membershipTimings: MembershipTimings = { openMs: 3_000, answerMs: 3_000, beatMs: 300 }

/**
 * The members of the group, read once per change of the group, and an open connection to every member. XCom takes a new
 * connection every 100 ms only, and a login takes time too: after a death there is no such time.
 */
export class GroupMembership implements Through {
  readonly asked: MemberIdentity[] = []
  readonly #options: MembershipOptions
  readonly #timings: MembershipTimings
  readonly #lines = new Map<string, Line>()
  #group: KnownGroup | null = null
  #beat: Timer | null = null
  #rests = 0

  constructor(options: MembershipOptions, timings: MembershipTimings = membershipTimings) {
    this.#options = options
    this.#timings = timings
  }

  /** As it was read last; null before. */
  get group(): KnownGroup | null {
    return this.#group
  }

  get connections(): readonly XcomLine[] {
    return [...this.#lines.values()].map((line) => line.connection).filter((connection) => connection !== null)
  }

  /**
   * By address: for how many milliseconds a member has answered nothing, neither a question nor an attempt to connect;
   * 0 for one that answered last. A time in which this agent itself stood still does not count.
   */
  get silence(): ReadonlyMap<string, number> {
    const nowMs = this.#options.clock.monotonicMs()
    return new Map([...this.#lines].map(([address, line]) => [address, line.silentMs(nowMs)]))
  }

  /** The member at this address, as the group was read last. */
  identityOf(address: string): MemberIdentity | null {
    return this.#group?.configuration.members.find((member) => member.address === address) ?? null
  }

  /**
   * To be called after each change that SQL shows: reads the group from the first of these members that answers, and
   * opens and closes connections accordingly. Rejects, and changes nothing, when none answers.
   */
  async refresh(seeds: readonly string[], facts: GroupFacts): Promise<KnownGroup> {
    const rests = this.#rests
    const read = { ...(await this.#read(seeds)), ...facts }
    if (rests !== this.#rests)
      throw new RegentError('REGENT_SERVER_DOWN', say`the connections to the group were closed`)
    const known = this.#group
    const isOlder = known?.id === read.id && isLater(known.configuration.start, read.configuration.start)
    this.#group = isOlder ? { ...known, ...facts } : read
    this.#forgetAsked(this.#group)
    this.#keepLines(this.#group)
    return this.#group
  }

  /** Another connection to a member. */
  open(address: string): Promise<XcomLine> {
    return this.#options.open(address, this.#timings.openMs)
  }

  /**
   * Closes everything, and forgets who is in the group: one that is formed anew counts its configurations from the
   * beginning. The members that were asked for are remembered. What is being read counts no more.
   */
  rest(): void {
    this.#rests++
    this.#group = null
    this.#beat?.cancel()
    this.#beat = null
    for (const line of this.#lines.values()) line.close()
    this.#lines.clear()
  }

  async #read(seeds: readonly string[]): Promise<Pick<KnownGroup, 'id' | 'configuration'>> {
    const complaints: string[] = []
    for (const seed of seeds) {
      try {
        return await this.#readFrom(seed)
      } catch (error) {
        complaints.push(describeError(error))
      }
    }
    throw new RegentError(
      'REGENT_SERVER_DOWN',
      say`no member tells who is in the group: ${reported(complaints.join('; '))}`,
    )
  }

  /** On a connection of its own, closed at once: the member’s whole cache follows the answer. */
  async #readFrom(seed: string): Promise<Pick<KnownGroup, 'id' | 'configuration'>> {
    const connection = await this.open(seed)
    try {
      const { answer, delivered } = await connection.state(this.#timings.answerMs)
      if (answer !== 'ok') throw new RegentError('REGENT_SERVER_DOWN', say`${seed}: it is in no group (${answer})`)
      const { configurations } = await connection.snapshot(delivered, this.#timings.answerMs)
      const configuration = newestConfiguration(configurations)
      if (configuration === undefined) throw new RegentError('REGENT_SERVER_DOWN', say`${seed}: it knows of no members`)
      return { id: delivered.group, configuration }
    } finally {
      connection.close()
    }
  }

  #forgetAsked({ configuration: { members } }: KnownGroup): void {
    const left = this.asked.filter((asked) => members.some((member) => isSame(member, asked)))
    this.asked.splice(0, this.asked.length, ...left)
  }

  #keepLines({ configuration: { members } }: KnownGroup): void {
    const wanted = new Set(members.map(({ address }) => address))
    for (const [address, line] of this.#lines) {
      if (wanted.has(address)) continue
      line.close()
      this.#lines.delete(address)
    }
    for (const address of wanted) {
      if (this.#lines.has(address)) continue
      const line = new Line(() => this.open(address), this.#timings)
      this.#lines.set(address, line)
      line.beat(this.#options.clock.monotonicMs())
    }
    this.#beat ??= this.#options.timers.every(this.#timings.beatMs, () => {
      for (const line of this.#lines.values()) line.beat(this.#options.clock.monotonicMs())
    })
  }
}

/** Beats that come so many times later than they should say that this agent stood still. */
const lateBeats = 3

/** A line to one member: the connection to it, opened again after it was lost. */
class Line {
  readonly #open: () => Promise<XcomLine>
  readonly #timings: MembershipTimings
  #connection: XcomLine | null = null
  #isOpening = false
  #isClosed = false
  #beatMs: number | null = null
  /** When the oldest question was asked, or the connection looked for, that has no answer; null for none. */
  #unansweredMs: number | null = null

  constructor(open: () => Promise<XcomLine>, timings: MembershipTimings) {
    this.#open = open
    this.#timings = timings
  }

  get connection(): XcomLine | null {
    return this.#connection?.isOpen === true ? this.#connection : null
  }

  /** 0 also where this agent has asked nothing lately: it stood still, and answers may lie there unread. */
  silentMs(nowMs: number): number {
    return this.#unansweredMs === null || this.#stoodStill(nowMs) ? 0 : nowMs - this.#unansweredMs
  }

  #stoodStill(nowMs: number): boolean {
    return this.#beatMs !== null && nowMs - this.#beatMs > lateBeats * this.#timings.beatMs
  }

  /** Asks on the connection, so that both sides know of its end; opens one where there is none. */
  beat(nowMs: number): void {
    const stoodStill = this.#stoodStill(nowMs)
    this.#beatMs = nowMs
    this.#unansweredMs = stoodStill ? nowMs : (this.#unansweredMs ?? nowMs)
    const { connection } = this
    // A question without an answer ends the connection, and the next beat opens another.
    if (connection !== null)
      connection.state(this.#timings.answerMs).then(
        () => (this.#unansweredMs = null),
        () => undefined,
      )
    else if (!this.#isOpening) void this.#openAgain()
  }

  close(): void {
    this.#isClosed = true
    this.#connection?.close()
  }

  async #openAgain(): Promise<void> {
    this.#isOpening = true
    // A member that is not there is no failure of this agent; the next beat tries again.
    const connection = await this.#open().catch(() => null)
    this.#isOpening = false
    if (connection !== null) this.#unansweredMs = null
    if (this.#isClosed) connection?.close()
    else this.#connection = connection
  }
}
