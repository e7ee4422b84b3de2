import type { Machine } from '../machine.ts'
import { majorityOf, type Ledger } from './ledger.ts'
import type { Groups } from './groups.ts'
import type { Member } from './member.ts'
import type { RemovalAsked } from './xcom-lines.ts'

/**
 * Who hears nothing of a member says so after 1.2 s, and its word may be a moment old when somebody decides by it. A
 * member that was heard for so long all the time was never silent to anybody who counts.
 */
const heardForMs = 5_000
/** A word of a member that says how far it is may be so old when its removal is asked for. */
const wordMs = 2_500
/** Members are asked again where they take long. What they were asked for first is judged. */
const firstRoundMs = 1_000

/** Who is in the group was read at a look at the server: a member may have gone or come since. */
const readMs = 1_500

interface Configuration {
  readonly seats: readonly Member[]
  /** It was seen to be in force last. */
  lastMs: number
}

/** Looks at each removal that somebody outside of the group asks its members for. */
export class Removals {
  readonly #groups: Groups
  readonly #heardSinceMs = new Map<Member, number>()
  readonly #configurations = new Map<Ledger, Configuration[]>()

  constructor(groups: Groups) {
    this.#groups = groups
  }

  /** To be called again and again: who is heard, and since when. */
  look(): void {
    const { ledgers, time } = this.#groups
    for (const ledger of ledgers) {
      this.#keep(ledger)
      for (const seat of ledger.now.seats)
        if (!isHeardByMajority(seat)) this.#heardSinceMs.delete(seat)
        else if (!this.#heardSinceMs.has(seat)) this.#heardSinceMs.set(seat, time.nowMs)
    }
  }

  #keep(ledger: Ledger): void {
    const { nowMs } = this.#groups.time
    const known = this.#configurations.get(ledger) ?? []
    const last = known.at(-1)
    if (last?.seats === ledger.now.seats) last.lastMs = nowMs
    else known.push({ seats: ledger.now.seats, lastMs: nowMs })
    this.#configurations.set(ledger, known)
  }

  /** As whoever asks may know them. */
  #configurationsOf({ ledger, agreed }: Member): readonly (readonly Member[])[] {
    const sinceMs = this.#groups.time.nowMs - readMs
    const lately = (this.#configurations.get(ledger) ?? []).filter(({ lastMs }) => lastMs >= sinceMs)
    return [agreed.seats, ...lately.map(({ seats }) => seats)]
  }

  wrong({ from, by, victim, firstMs }: RemovalAsked): string | undefined {
    const { time } = this.#groups
    if (time.nowMs - firstMs > firstRoundMs) return undefined
    const who = `${from.name} has ${victim.name} removed`
    const heardMs = time.nowMs - (this.#heardSinceMs.get(victim) ?? time.nowMs)
    if (isHeardByMajority(victim) && heardMs >= heardForMs) return `${who}, which a majority hears`
    const tooFew = this.#configurationsOf(by)
      .filter((seats) => seats.includes(victim))
      .map((seats) => this.#tooFew(seats, from, victim))
    return tooFew.includes(undefined) ? undefined : `${who}, ${tooFew[0]}`
  }

  #tooFew(seats: readonly Member[], from: Machine, victim: Member): string | undefined {
    const { time } = this.#groups
    const heardAtMs = this.#groups.answersHeardAt(from)
    const isWord = (seat: Member): boolean => time.nowMs - (heardAtMs.get(seat) ?? -Infinity) <= wordMs
    const answering = seats.filter((seat) => seat !== victim && isWord(seat)).length
    // Who has never answered may have come since that machine was told who is in the group.
    const known = seats.filter((seat) => seat === victim || heardAtMs.has(seat))
    return answering < majorityOf(known) ? `and has heard ${answering} of ${known.length} members lately` : undefined
  }
}

function isHeardByMajority(member: Member): boolean {
  if (!member.runs) return false
  const { seats } = member.ledger.now
  return seats.filter((seat) => seat.runs && seat.hears(member)).length >= majorityOf(seats)
}
