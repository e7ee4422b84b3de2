import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { Transaction } from '../mysqld/data-folder.ts'
import type { Member } from './member.ts'

/** What a group has agreed on up to some entry. */
export interface Agreed {
  /** Grows with each change of who is a member. */
  readonly view: number
  /** In the order in which they came. */
  readonly seats: readonly Member[]
  readonly online: ReadonlySet<Member>
  readonly primary: Member | null
  /** Multi-primary mode: each member that is online writes. Stays as it was where a change says nothing of that. */
  readonly isMulti?: boolean
}

/** The group has this one write. */
export function writesIn({ primary, online, isMulti = false }: Agreed, member: Member): boolean {
  return primary === member || (isMulti && online.has(member))
}

/** One thing that a group agrees on, after all that is before it. */
export interface Entry {
  /** Whose transaction, and what. */
  readonly written: { readonly by: Member; readonly transaction: Transaction } | null
  readonly after: Agreed
}

/** What a member asks the group to agree on. Undefined where nothing is left to agree on by the time that it is due. */
export type Change = (before: Agreed) => Omit<Agreed, 'view'> | undefined

export type Wish =
  | { readonly kind: 'transaction'; readonly chosen: (transaction: Transaction) => void }
  | { readonly kind: 'change'; readonly change: Change }

/** A wish on its way, and who has received that. */
export interface Proposal {
  readonly by: Member
  readonly wish: Wish
  readonly received: Set<Member>
}

/**
 * Everything that one group has agreed on, in the order of the agreement (what Paxos gives its members). A proposal is
 * agreed on at the moment at which a majority of the view has received it, whether anybody knows of that or not. All of
 * that is in the memory of the members: nothing here is on a disk.
 */
export class Ledger {
  readonly name: string
  /** When the group was formed, as `VIEW_ID` has that. */
  readonly formedAt: number
  readonly former: Member
  /** A person had the group formed, and no record said so. */
  readonly byHand: boolean
  readonly entries: Entry[] = []
  /** What the one that formed the group held, and all that the group has agreed on since. */
  holds: GtidSet
  readonly #random: SeededRandom
  readonly #pending = new Set<Proposal>()
  /** Servers that have written, in their order: each has a block of numbers of its own. */
  readonly #writers: string[] = []

  constructor(
    former: Member,
    facts: {
      readonly name: string
      readonly formedAt: number
      readonly holds: GtidSet
      readonly random: SeededRandom
      readonly byHand: boolean
    },
  ) {
    this.name = facts.name
    this.byHand = facts.byHand
    this.formedAt = facts.formedAt
    this.former = former
    this.holds = facts.holds
    this.#random = facts.random
    const after = { view: 1, seats: [former], online: new Set([former]), primary: former }
    this.entries.push({ written: null, after })
  }

  get now(): Agreed {
    const last = this.entries.at(-1)
    if (last === undefined) throw new Error('a group begins with its first view')
    return last.after
  }

  blockOf(uuid: string): number {
    if (!this.#writers.includes(uuid)) this.#writers.push(uuid)
    return this.#writers.indexOf(uuid)
  }

  begin(proposal: Proposal): void {
    this.#pending.add(proposal)
  }

  /** A member of the group has received this. */
  received(proposal: Proposal, by: Member): void {
    if (!this.#pending.has(proposal)) return
    proposal.received.add(by)
    this.#count(proposal)
  }

  #count(proposal: Proposal): void {
    const { seats } = this.now
    if (!this.#pending.has(proposal) || !isMajority(proposal.received, seats)) return
    this.#pending.delete(proposal)
    // Who was removed meanwhile has no say any more.
    if (seats.includes(proposal.by)) this.#agree(proposal)
    else proposal.by.dropped(proposal)
  }

  /** Whoever proposed this takes it back, as far as nobody has agreed yet. */
  withdraw(proposal: Proposal): void {
    this.#pending.delete(proposal)
  }

  isPending(proposal: Proposal): boolean {
    return this.#pending.has(proposal)
  }

  #agree(proposal: Proposal): void {
    const { by, wish, received } = proposal
    if (wish.kind === 'transaction') {
      // Written by one that is primary no more: its session is rolled back. One that a hand has opened may write: a
      // group in single-primary mode certifies nothing.
      if (!writesIn(this.now, by) && !by.mysqld.isOpenByHand) return by.dropped(proposal)
      return this.#write(by, wish.chosen)
    }
    const next = wish.change(this.now)
    if (next === undefined) return
    this.#finishOrphans(next.seats, received)
    this.#change(next)
  }

  #write(by: Member, chosen: (transaction: Transaction) => void): void {
    const transaction = by.newTransaction()
    this.holds = this.holds.union(transaction.gtid)
    this.entries.push({ written: { by, transaction }, after: this.now })
    chosen(transaction)
    this.#tell()
  }

  /**
   * Those that go on find what was received by some of them, from one that is a member no more: Paxos may finish that,
   * or leave that out.
   */
  #finishOrphans(seats: readonly Member[], agreeing: ReadonlySet<Member>): void {
    for (const orphan of [...this.#pending]) {
      if (seats.includes(orphan.by)) continue
      this.#pending.delete(orphan)
      const isFound = [...orphan.received].some((one) => agreeing.has(one) && seats.includes(one))
      if (orphan.wish.kind === 'transaction' && isFound && this.#random.chance(0.5))
        this.#write(orphan.by, orphan.wish.chosen)
      else orphan.by.dropped(orphan)
    }
  }

  #change(next: Omit<Agreed, 'view'>): void {
    const before = this.now
    const isSame = next.seats.length === before.seats.length && next.seats.every((seat) => before.seats.includes(seat))
    const online = new Set([...next.online].filter((one) => next.seats.includes(one)))
    const stays = next.primary !== null && online.has(next.primary)
    const primary = stays ? next.primary : elected([...online])
    const { isMulti = before.isMulti ?? false } = next
    this.entries.push({
      written: null,
      after: { view: before.view + (isSame ? 0 : 1), seats: next.seats, online, primary, isMulti },
    })
    for (const gone of before.seats) if (!next.seats.includes(gone)) gone.removed()
    this.#tell()
    // Of fewer members a majority may have received by now what was not agreed on before.
    for (const proposal of [...this.#pending]) this.#count(proposal)
  }

  #tell(): void {
    for (const seat of this.now.seats) seat.hasNews()
  }

  /** So many of the members could still agree on something: a frozen one may go on. */
  get isAble(): boolean {
    const { seats } = this.now
    return isMajority(new Set(seats.filter((seat) => seat.isThere)), seats)
  }
}

/** All have one version and one weight: the smallest `server_uuid` leads. */
function elected(online: readonly Member[]): Member | null {
  return online.toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1))[0] ?? null
}

export function isMajority(some: ReadonlySet<Member>, seats: readonly Member[]): boolean {
  return seats.filter((seat) => some.has(seat)).length >= majorityOf(seats)
}

export function majorityOf({ length }: readonly Member[]): number {
  return Math.floor(length / 2) + 1
}
