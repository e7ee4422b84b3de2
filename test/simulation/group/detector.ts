import type { Member } from './member.ts'
import { withoutMembers } from './member.ts'
import type { GroupPorts } from './ports.ts'

const tickMs = 1_000
/** A constant of XCom. `group_replication_member_expel_timeout` = 0 adds nothing to it. */
const silentMs = 5_000
/** `group_replication_unreachable_majority_timeout`. */
const unreachableMajorityMs = 20_000

/** Which of the others a member has heard lately. The first that is heard has silent ones removed. */
export class Detector {
  readonly #own: Member
  readonly #ports: GroupPorts
  readonly #heardAtMs = new Map<Member, number>()
  #suspects: readonly Member[] = []
  #aloneSinceMs: number | null = null

  constructor(own: Member, ports: GroupPorts) {
    this.#own = own
    this.#ports = ports
  }

  begin(): void {
    this.sees(this.#own.agreed.seats)
    this.#ports.time.after(this.#ports.random.between(0, tickMs), () => this.#tick())
  }

  /** From now on these are listened to; who is new, as if heard at this moment. */
  sees(seats: readonly Member[]): void {
    const { nowMs } = this.#ports.time
    const known = new Map(this.#heardAtMs)
    this.#heardAtMs.clear()
    for (const seat of seats) this.#heardAtMs.set(seat, known.get(seat) ?? nowMs)
  }

  /** After a pause of the whole server nothing is known of the time between. */
  forgive(): void {
    for (const seat of this.#heardAtMs.keys()) this.#heardAtMs.set(seat, this.#ports.time.nowMs)
  }

  isSuspect(seat: Member): boolean {
    return this.#suspects.includes(seat)
  }

  /** It hears no majority, as far as it knows. */
  get isAlone(): boolean {
    return this.#suspects.length * 2 >= this.#own.agreed.seats.length
  }

  #tick(): void {
    if (!this.#own.isThere) return
    this.#ports.time.after(tickMs, () => this.#tick())
    if (!this.#own.runs) return
    const before = this.#suspects
    this.#listen()
    this.#own.findOutWhetherRemoved()
    const { seats } = this.#own.agreed
    if (this.isAlone) return this.#waitForOthers()
    this.#aloneSinceMs = null
    const first = seats.find((seat) => !this.isSuspect(seat))
    // Shown as UNREACHABLE at one tick, removed at the next.
    const removed = this.#suspects.filter((seat) => before.includes(seat))
    if (removed.length > 0 && first === this.#own) this.#own.change(withoutMembers(removed))
  }

  #listen(): void {
    const { nowMs } = this.#ports.time
    const { seats } = this.#own.agreed
    for (const seat of seats) if (this.#isHeard(seat)) this.#heardAtMs.set(seat, nowMs)
    this.#suspects = seats.filter((seat) => nowMs - (this.#heardAtMs.get(seat) ?? nowMs) >= silentMs)
  }

  #isHeard(seat: Member): boolean {
    return seat === this.#own || (seat.runs && this.#ports.network.reaches(seat.name, this.#own.name))
  }

  #waitForOthers(): void {
    const { nowMs } = this.#ports.time
    this.#aloneSinceMs ??= nowMs
    if (nowMs - this.#aloneSinceMs >= unreachableMajorityMs) this.#own.giveUpMajority()
  }
}
