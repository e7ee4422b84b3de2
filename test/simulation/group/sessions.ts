import type { Transaction } from '../mysqld/data-folder.ts'
import type { Commit, CommitAnswer } from '../mysqld/semi-sync-source.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { Proposal } from './ledger.ts'
import type { Member } from './member.ts'

const lookMs = 5
const unwritten: Transaction = { uuid: '', gtid: GtidSet.empty, serverId: 0 }

interface Session {
  readonly commit: Commit
  /** Undefined while it waits for what was received before. */
  proposal: Proposal | undefined
  /** Its client is gone, and has heard so. */
  isKilled: boolean
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

  /** Clients that wait and could still be told OK. */
  get hasClients(): boolean {
    return this.#sessions.some(({ commit, isKilled }) => !commit.isOwn && !isKilled)
  }

  get hasForeign(): boolean {
    return this.#sessions.some(({ commit }) => !commit.isOwn)
  }

  add(commit: Commit): void {
    const session: Session = { commit, proposal: undefined, isKilled: false }
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
    this.#end(({ proposal: own }) => own !== undefined && own === proposal, 'ok', transaction)
  }

  rollBack(proposal: Proposal): void {
    this.#end((session) => session.proposal === proposal, 'refused')
  }

  /**
   * `KILL`: the client hears so at once. The session is there until the group has agreed on its transaction, or its
   * membership ends.
   */
  kill(which: (commit: Commit) => boolean): void {
    this.#end(({ commit, proposal }) => proposal === undefined && which(commit), 'lost')
    for (const session of this.#sessions) {
      if (session.isKilled || !which(session.commit)) continue
      session.isKilled = true
      session.commit.answer('lost', unwritten)
    }
  }

  /** The membership ended: they are rolled back here, whatever the others make of them. */
  lose(): void {
    this.#end(() => true, 'lost')
  }

  #end(which: (session: Session) => boolean, answer: CommitAnswer, transaction = unwritten): void {
    const ended = this.#sessions.filter(which)
    if (ended.length > 0) this.#sessions = this.#sessions.filter((session) => !ended.includes(session))
    for (const { commit, isKilled } of ended) if (!isKilled) commit.answer(answer, transaction)
  }
}
