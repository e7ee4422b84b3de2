import type { Transaction } from '../mysqld/data-folder.ts'
import type { Commit } from '../mysqld/semi-sync-source.ts'
import { GtidSet } from '../../../topology/gtid/gtid-set.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { Proposal } from './ledger.ts'
import type { Member } from './member.ts'

const lookMs = 5
const unwritten: Transaction = { uuid: '', gtid: GtidSet.empty }

interface Session {
  readonly commit: Commit
  /** Undefined while it waits for what was received before. */
  proposal: Proposal | undefined
}

/** Sessions of one member whose transactions the group has not agreed on yet. */
export class Sessions {
  readonly #own: Member
  readonly #time: VirtualTime
  #sessions: readonly Session[] = []
  readonly #chosen = new Map<Transaction, Proposal>()
  #isHeld = false

  constructor(own: Member, time: VirtualTime) {
    this.#own = own
    this.#time = time
  }

  get count(): number {
    return this.#sessions.length
  }

  get hasForeign(): boolean {
    return this.#sessions.some(({ commit }) => !commit.isOwn)
  }

  add(commit: Commit): void {
    const session: Session = { commit, proposal: undefined }
    this.#sessions = [...this.#sessions, session]
    if (!this.#isHeld) this.#propose(session)
  }

  #propose(session: Session): void {
    const proposal: Proposal = this.#own.propose({
      kind: 'transaction',
      chosen: (transaction) => this.#chosen.set(transaction, proposal),
    })
    session.proposal = proposal
  }

  /** What is received by now is applied before anything is written. */
  holdUntilApplied(): void {
    this.#isHeld = true
    this.#look()
  }

  #look(): void {
    if (!this.#own.isThere) return
    if (this.#own.mysqld.folder.backlog > 0 || !this.#own.runs) return void this.#time.after(lookMs, () => this.#look())
    this.#isHeld = false
    for (const session of this.#sessions) if (session.proposal === undefined) this.#propose(session)
  }

  /** The group has agreed, and says so here: on this disk before the client hears of that. */
  commit(transaction: Transaction): void {
    const { folder } = this.#own.mysqld
    folder.binlog.push(transaction)
    folder.commit(transaction)
    const proposal = this.#chosen.get(transaction)
    this.#chosen.delete(transaction)
    this.#take(({ proposal: own }) => own !== undefined && own === proposal).forEach(({ commit }) =>
      commit.answer('ok', transaction),
    )
  }

  rollBack(proposal: Proposal): void {
    for (const { commit } of this.#take((session) => session.proposal === proposal)) commit.answer('refused', unwritten)
  }

  /** `KILL`: the session ends. What the group agrees on all the same is committed without it. */
  kill(which: (commit: Commit) => boolean): void {
    for (const { commit } of this.#take((session) => which(session.commit))) commit.answer('lost', unwritten)
  }

  /** The membership ended: they are rolled back here, whatever the others make of them. */
  lose(): void {
    this.kill(() => true)
  }

  #take(which: (session: Session) => boolean): readonly Session[] {
    const taken = this.#sessions.filter(which)
    if (taken.length > 0) this.#sessions = this.#sessions.filter((session) => !taken.includes(session))
    return taken
  }
}
