import { groupAddress } from '#failover/protocol/group-address.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { Transaction } from '../mysqld/data-folder.ts'
import type { Mysqld } from '../mysqld/mysqld.ts'
import { Detector } from './detector.ts'
import {
  isMajority,
  writesIn,
  type Agreed,
  type Change,
  type Entry,
  type Ledger,
  type Proposal,
  type Wish,
} from './ledger.ts'
import type { GroupPorts } from './ports.ts'
import { Recovery } from './recovery.ts'
import { Sessions } from './sessions.ts'

/** What is not answered is sent again. */
const sendAgainMs = 400
const deliverAgainMs = 100

/** `stays`: what the member saw last is shown on, until it leaves what is left of its membership. */
export type Ending = 'left' | { readonly error: string; readonly stays?: true }

export interface MemberFacts {
  readonly name: InstanceName
  readonly host: string
  readonly mysqld: Mysqld
  /** The membership ended: with an error, or in order. */
  readonly ended: (how: Ending) => void
}

/**
 * One server's membership in one group, from the view that brought it in to its end. What it knows of the group is what
 * was delivered here; a server that comes back is another member.
 */
export class Member {
  readonly name: InstanceName
  readonly host: string
  /** By which the others know this one: the same for each life of one server. */
  readonly address: string
  readonly uuid: string
  readonly mysqld: Mysqld
  readonly ledger: Ledger
  readonly joinedMs: number
  /** Another one for each start of the plugin. */
  readonly incarnation: string
  readonly sessions: Sessions
  readonly detector: Detector
  readonly #ports: GroupPorts
  readonly #facts: MemberFacts
  readonly #recovery: Recovery
  /** So many entries were delivered here. */
  position: number
  /** The process lives and has not left the group. */
  isThere = true
  #isLeaving = false
  #isTold = false
  /** What came while the server was frozen. */
  readonly #inbox: (() => void)[] = []

  /** @param ledger of the group; undefined for one that forms a group */
  constructor(facts: MemberFacts, ports: GroupPorts, ledger: (own: Member) => Ledger) {
    this.name = facts.name
    this.host = facts.host
    this.address = groupAddress({ host: facts.host, port: 3306 })
    this.mysqld = facts.mysqld
    this.uuid = facts.mysqld.folder.uuid
    this.#facts = facts
    this.#ports = ports
    this.joinedMs = ports.time.nowMs
    this.incarnation = String(this.joinedMs)
    this.ledger = ledger(this)
    this.position = this.ledger.entries.length
    this.sessions = new Sessions(this, ports.time)
    this.detector = new Detector(this, ports)
    this.#recovery = new Recovery(this, ports)
  }

  /** It is in a view from now on. */
  begin(): void {
    this.position = this.ledger.entries.length
    this.detector.begin()
    if (this.agreed.primary === this) this.#lead()
    if (!this.isOnline) this.#recovery.begin(this.ledger.holds)
    else this.mysqld.startGroupApplier()
  }

  /** As far as it was delivered here. */
  get agreed(): Agreed {
    const entry = this.ledger.entries[this.position - 1]
    if (entry === undefined) throw new Error(`${this.name} is in no view`)
    return entry.after
  }

  get isOnline(): boolean {
    return this.agreed.online.has(this)
  }

  get runs(): boolean {
    return this.isThere && this.mysqld.state === 'running'
  }

  hears(other: Member): boolean {
    return other === this || (other.runs && this.#ports.network.reachesBothWays(this.name, other.name))
  }

  hearsMajority(seats: readonly Member[] = this.agreed.seats): boolean {
    return isMajority(new Set(seats.filter((seat) => this.hears(seat))), seats)
  }

  newTransaction(): Transaction {
    const { name } = this.ledger
    const gtid = GtidSet.single(name, this.#ports.nextNumber(name, this.ledger.blockOf(this.uuid)))
    // The channels of a group pass over nothing (`replicate_same_server_id`).
    return { uuid: name, gtid, serverId: 0 }
  }

  propose(wish: Wish): Proposal {
    const proposal: Proposal = { by: this, wish, received: new Set() }
    this.ledger.begin(proposal)
    this.#spread(proposal)
    this.#ports.time.after(this.#ports.network.delayMs(), () => this.ledger.received(proposal, this))
    return proposal
  }

  change(change: Change): Proposal {
    return this.propose({ kind: 'change', change })
  }

  #spread(proposal: Proposal): void {
    if (!this.ledger.isPending(proposal) || !this.isThere) return
    if (this.runs)
      for (const seat of this.ledger.now.seats)
        if (seat !== this && !proposal.received.has(seat)) this.#send(seat, () => this.ledger.received(proposal, seat))
    this.#ports.time.after(sendAgainMs, () => this.#spread(proposal))
  }

  #send(to: Member, arrives: () => void): void {
    const { time, network } = this.#ports
    time.after(network.delayMs(this.name, to.name), () => {
      if (network.reaches(this.name, to.name)) to.#take(arrives)
    })
  }

  #take(message: () => void): void {
    if (!this.isThere) return
    if (this.runs) message()
    else this.#inbox.push(message)
  }

  /** The group did not agree on this, and never will. */
  dropped(proposal: Proposal): void {
    this.sessions.rollBack(proposal)
  }

  hasNews(): void {
    const upTo = this.ledger.entries.length
    this.#ports.time.after(this.#ports.network.delayMs(this.name), () => this.#take(() => this.#advance(upTo)))
  }

  #advance(upTo: number): void {
    while (this.runs && this.position < upTo) {
      const entry = this.ledger.entries[this.position]
      const before = this.agreed
      if (entry === undefined || !entry.after.seats.includes(this)) return
      if (![before, entry.after, this.ledger.now].some(({ seats }) => this.hearsMajority(seats)))
        return void this.#ports.time.after(deliverAgainMs, () => this.#take(() => this.#advance(upTo)))
      this.position += 1
      this.#deliver(entry, before)
    }
  }

  #deliver({ written, after }: Entry, before: Agreed): void {
    if (written !== null) return this.#receive(written.by, written.transaction)
    if (after.view !== before.view) this.detector.sees(after.seats)
    this.#seesWriters(before, after)
    if (after.online.size === 0) this.fail('All donors left. Aborting group replication recovery')
  }

  #seesWriters(before: Agreed, after: Agreed): void {
    const [wrote, writes] = [writesIn(before, this), writesIn(after, this)]
    if (after.primary === this && before.primary !== this) this.#lead()
    else if (writes && !wrote) this.mysqld.openByGroup()
    if (wrote && !writes) this.mysqld.closeByGroup(false)
  }

  #receive(by: Member, transaction: Transaction): void {
    if (by === this) return this.sessions.commit(transaction)
    if (this.mysqld.folder.has(transaction)) return
    if (this.#recovery.queues(transaction)) return
    this.receive(transaction)
  }

  /** Into the relay log, which is not synced. */
  receive(transaction: Transaction): void {
    const { folder } = this.mysqld
    if (!folder.has(transaction)) folder.receive(transaction)
    this.mysqld.apply()
  }

  /** Writes are let in at once, and wait until what was received before is applied (`BEFORE_ON_PRIMARY_FAILOVER`). */
  #lead(): void {
    this.mysqld.openByGroup()
    this.sessions.holdUntilApplied()
  }

  /** All have agreed that it is a member no more. It is told so by nobody. */
  removed(): void {
    if (!this.#isLeaving || !this.isThere) return
    this.#ports.time.after(this.#ports.random.between(5, 200), () => this.isThere && this.#end('left'))
  }

  /** It hears others, and finds out that they have gone on without it. */
  findOutWhetherRemoved(): void {
    if (this.#isTold || this.ledger.now.seats.includes(this)) return
    if (!this.ledger.now.seats.some((seat) => this.hears(seat) && !seat.agreed.seats.includes(this))) return
    this.#isTold = true
    this.#ports.time.after(this.#ports.random.between(500, 3_400), () => this.#take(() => this.fail('')))
  }

  /** The members agree that it leaves; that may take, and needs a majority. */
  leave(): void {
    if (this.#isLeaving) return
    this.#isLeaving = true
    this.change(withoutMembers([this]))
  }

  /** Out by an error: closed to everybody (`group_replication_exit_state_action`). */
  fail(error: string): void {
    if (!this.isThere) return
    if (this.ledger.now.seats.includes(this)) this.change(withoutMembers([this]))
    this.#end({ error })
  }

  /** It has heard no majority for too long. */
  giveUpMajority(): void {
    if (!this.isThere) return
    this.change(withoutMembers([this]))
    this.#end({ error: '', stays: true })
  }

  /** Its process ended. */
  die(): void {
    this.isThere = false
    this.sessions.lose()
  }

  /** After SIGSTOP: what was sent meanwhile is there. */
  thaw(): void {
    this.detector.forgive()
    for (const message of this.#inbox.splice(0)) this.#take(message)
  }

  #end(how: Ending): void {
    this.isThere = false
    this.sessions.lose()
    this.#facts.ended(how)
  }
}

/** A view without these. */
export function withoutMembers(gone: readonly Member[]): Change {
  return ({ seats, online, primary }) =>
    seats.some((seat) => gone.includes(seat))
      ? { seats: seats.filter((seat) => !gone.includes(seat)), online, primary }
      : undefined
}
