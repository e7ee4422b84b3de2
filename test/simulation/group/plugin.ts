import type { GroupSettings } from '#agents/ports/group.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { GroupState, MemberState, ServerState } from '#topology/snapshot/observation.ts'
import type { Machine } from '../machine.ts'
import type { GroupCommits, Mysqld } from '../mysqld/mysqld.ts'
import type { Commit } from '../mysqld/semi-sync-source.ts'
import type { Groups } from './groups.ts'
import { Ledger, writesIn } from './ledger.ts'
import { Member, type Ending, type MemberFacts } from './member.ts'

/** A start gives up when it has waited so long for a view. */
const viewMs = 60_000
const joinAgainMs = 1_000
const pollMs = 5
/** A person waits so long for a member to leave. */
const byHandMs = 5_000

/** The plugin of Group Replication in one mysqld: outside of a group, a member of one, or out of it by an error. */
export class GroupPlugin implements GroupCommits {
  readonly machine: Machine
  readonly mysqld: Mysqld
  readonly #groups: Groups
  member: Member | null = null
  #name = ''
  #error: string | null = null
  /** It left by an error, and shows the view that it had. */
  #former: Member | null = null
  /** Statements that look at the group wait while it is being left. */
  isStopping = false
  #isStarting = false

  constructor(machine: Machine, mysqld: Mysqld, groups: Groups) {
    this.machine = machine
    this.mysqld = mysqld
    this.#groups = groups
    mysqld.onChange(() => this.#mysqldChanged())
  }

  #mysqldChanged(): void {
    if (this.mysqld.state === 'dead') {
      this.member?.die()
      this.member = null
    } else if (this.mysqld.state === 'running') this.member?.thaw()
  }

  get takesCommits(): boolean {
    return this.member !== null
  }

  get waiting(): number {
    return this.member?.sessions.count ?? 0
  }

  get hasForeignSessions(): boolean {
    return this.member?.sessions.hasForeign ?? false
  }

  commit(commits: readonly Commit[]): void {
    for (const commit of commits) this.member?.sessions.add(commit)
  }

  kill(which: (commit: Commit) => boolean): void {
    this.member?.sessions.kill(which)
  }

  /** The server is told to stop in order: sessions end, and it leaves its group, if the group can agree. */
  serverStops(): void {
    this.member?.sessions.lose()
    this.member?.leave()
  }

  /** A person stops this member, and has its group begin once more here, alone. What is refused is left at that. */
  async formByHand(): Promise<void> {
    const settings = { name: this.#name, seeds: [], consistency: '' }
    if (this.member === null) return
    await this.stop(byHandMs).catch(() => undefined)
    if (this.member === null) await this.start(settings, true, true).catch(() => undefined)
  }

  async start(settings: GroupSettings, forms: boolean, byHand = false): Promise<void> {
    if (this.member !== null || this.#isStarting)
      throw refused(say`the START GROUP_REPLICATION command failed as the group is already running`)
    this.#isStarting = true
    this.#error = this.#former = null
    this.#name = settings.name
    const { readOnly, superReadOnly } = this.mysqld
    this.mysqld.closeByGroup(false)
    try {
      await this.#sleep(this.#groups.random.between(100, 900))
      if (forms) this.#form(byHand)
      else await this.#join()
    } catch (error) {
      // It stays as open as it was before.
      Object.assign(this.mysqld, { readOnly, superReadOnly })
      throw error
    } finally {
      this.#isStarting = false
    }
  }

  #form(byHand: boolean): void {
    this.#lives()
    const { folder } = this.mysqld
    const { time, random } = this.#groups
    const holds = folder.executed.union(folder.received)
    const facts = { name: this.#name, formedAt: Math.floor((1e12 + time.nowMs) * 1e4), holds, random, byHand }
    const member = new Member(this.#facts(), this.#groups, (own) => new Ledger(own, facts))
    this.#becomes(member)
    this.#groups.formed(member)
  }

  #becomes(member: Member): void {
    this.member = member
    member.begin()
  }

  #facts(): MemberFacts {
    const { machine, mysqld } = this
    const facts: MemberFacts = {
      name: machine.name,
      host: machine.host,
      mysqld,
      ended: (how) => this.#ended(how),
    }
    return facts
  }

  #ended(how: Ending): void {
    const { member } = this
    this.member = null
    this.mysqld.applierRuns = false
    if (how === 'left') return this.mysqld.closeByGroup(false)
    this.#error = how.error
    this.#former = how.stays === true ? member : null
    this.mysqld.closeByGroup(true)
  }

  #lives(): void {
    if (this.mysqld.state === 'dead') throw refused(say`Lost connection to MySQL server during query`)
  }

  async #join(): Promise<void> {
    const { time } = this.#groups
    const untilMs = time.nowMs + viewMs
    let seen = false
    const nobodyUntilMs = time.nowMs + this.#groups.random.between(4_000, 12_000)
    while (time.nowMs < untilMs) {
      this.#lives()
      const seed = this.#groups.seedFor(this.machine, this.#name)
      seen ||= seed !== undefined
      if (!seen && time.nowMs > nobodyUntilMs)
        throw refused(say`[GCS] Error connecting to all peers. Member join failed`)
      if (seed !== undefined && (await this.#joinThrough(seed))) return
      await this.#sleep(joinAgainMs)
    }
    throw refused(say`[GCS] Timeout while waiting for the group communication engine to be ready`)
  }

  /** False where that is to be tried again. */
  async #joinThrough(seed: Member): Promise<boolean> {
    const { ledger } = seed
    // "Old incarnation found while trying to add node".
    if (ledger.now.seats.some(({ name }) => name === this.machine.name)) return false
    const { executed, received } = this.mysqld.folder
    const more = executed.union(received).subtract(ledger.holds)
    if (!more.isEmpty())
      throw refused(
        say`This member has more executed transactions than those present in the group. Local transactions: ${more.toString()}`,
      )
    const joiner = new Member(this.#facts(), this.#groups, () => ledger)
    let isIn = false
    const proposal = seed.change(({ seats, online, primary }) => {
      if (seats.some(({ name }) => name === joiner.name)) return undefined
      isIn = true
      return { seats: [...seats, joiner], online, primary }
    })
    const untilMs = this.#groups.time.nowMs + viewMs / 2
    while (!isIn && ledger.isPending(proposal) && this.#groups.time.nowMs < untilMs) await this.#sleep(pollMs)
    ledger.withdraw(proposal)
    if (!isIn) return false
    if (this.mysqld.state === 'dead') joiner.die()
    this.#lives()
    this.#becomes(joiner)
    return true
  }

  /** Resolves once it is out. */
  async stop(deadlineMs: number): Promise<void> {
    const { time } = this.#groups
    const untilMs = time.nowMs + deadlineMs
    // A stop and a start take the same lock (`plugin_running_lock`).
    while (this.#isStarting) {
      if (time.nowMs >= untilMs) throw tooLate(deadlineMs)
      await this.#sleep(pollMs)
    }
    if (this.member === null) {
      this.#error = this.#former = null
      return
    }
    this.#stopping(this.member)
    while (this.member !== null) {
      if (time.nowMs >= untilMs) throw tooLate(deadlineMs)
      await this.#sleep(pollMs)
    }
  }

  /** The statement waits on where nobody waits for it any more. */
  #stopping(member: Member): void {
    if (this.isStopping) return
    this.isStopping = true
    member.leave()
    const look = (): void => {
      this.isStopping = this.member === member
      if (this.isStopping) this.#groups.time.after(pollMs, look)
    }
    look()
  }

  /** Of a primary: no transaction begins, those that run get their time, then the group agrees on the other one. */
  async electPrimary(uuid: string, { graceMs, deadlineMs }: { graceMs: number; deadlineMs: number }): Promise<void> {
    const { member, mysqld } = this
    const { time } = this.#groups
    if (member === null) throw refused(say`Member must be ONLINE and in the majority partition.`)
    const next = [...member.agreed.online].find((one) => one.uuid === uuid)
    if (next === undefined) throw refused(say`The requested uuid is not a member of the group.`)
    const [graceEndMs, untilMs] = [time.nowMs + graceMs, time.nowMs + deadlineMs]
    mysqld.beginClosing()
    try {
      await this.#until(() => member.sessions.count === 0, Math.min(graceEndMs, untilMs))
      mysqld.killForeignSessions()
      member.change(({ seats, online }) => (online.has(next) ? { seats, online, primary: next } : undefined))
      const isDone = await this.#until(() => !member.isThere || member.agreed.primary !== member, untilMs)
      if (!isDone) throw tooLate(deadlineMs)
    } finally {
      mysqld.endClosing(false)
    }
  }

  /** `group_replication_switch_to_multi_primary_mode()`, by a hand. */
  letAllWrite(): void {
    this.member?.change(({ seats, online, primary }) => ({ seats, online, primary, isMulti: true }))
  }

  /** `group_replication_switch_to_single_primary_mode()`. Resolves once the group has agreed. */
  async leadAlone(uuid: string, deadlineMs: number): Promise<void> {
    const { member } = this
    if (member === null) throw refused(say`Member must be ONLINE and in the majority partition.`)
    member.change(({ seats, online }) => {
      const primary = [...online].find((one) => one.uuid === uuid) ?? null
      return primary === null ? undefined : { seats, online, primary, isMulti: false }
    })
    const isAlone = (): boolean => member.agreed.isMulti !== true && member.agreed.primary?.uuid === uuid
    if (!(await this.#until(isAlone, this.#groups.time.nowMs + deadlineMs))) throw tooLate(deadlineMs)
  }

  async #until(holds: () => boolean, untilMs: number): Promise<boolean> {
    while (!holds()) {
      if (this.#groups.time.nowMs >= untilMs) return false
      await this.#sleep(pollMs)
    }
    return true
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#groups.time.after(ms, resolve))
  }

  get viewId(): string {
    return this.member === null ? '' : viewIdOf(this.member)
  }

  /** What the server shows of its group. */
  shown(): Pick<ServerState, 'group' | 'changedSettings'> {
    const group: GroupState = {
      name: this.#name,
      state: this.#state(),
      viewId: this.viewId,
      members: this.#shownMembers(),
      certifying: 0,
      applying: this.mysqld.folder.backlog,
      error: this.#error ?? '',
    }
    return { group, ...(this.member?.agreed.isMulti === true ? { changedSettings: [multiPrimary] } : {}) }
  }

  #shownMembers(): GroupState['members'] {
    const { member } = this
    if (member !== null) return member.agreed.seats.map((seat) => shownSeat(seat, member))
    const former = this.#former
    const others = former?.agreed.seats.filter((seat) => seat !== former) ?? []
    return [this.#alone(), ...others.map((seat) => shownSeat(seat, former))]
  }

  #state(): MemberState {
    if (this.member === null) return this.#error === null ? 'OFFLINE' : 'ERROR'
    return this.member.isOnline ? 'ONLINE' : 'RECOVERING'
  }

  #alone(): GroupState['members'][number] {
    const { host } = this.machine
    const { uuid } = this.mysqld.folder
    return { uuid, host, port: 3306, state: this.#state(), role: '', version: '9.7.4' }
  }
}

const multiPrimary = { name: 'group_replication_single_primary_mode', seen: 'OFF', wanted: 'ON' } as const

function viewIdOf({ ledger, agreed }: Member): string {
  return `${ledger.formedAt}:${agreed.view}`
}

function shownSeat(seat: Member, by: Member | null): GroupState['members'][number] {
  const { online = new Set<Member>() } = by?.agreed ?? {}
  const state = by?.detector.isSuspect(seat) ? 'UNREACHABLE' : online.has(seat) ? 'ONLINE' : 'RECOVERING'
  const role = by !== null && writesIn(by.agreed, seat) ? 'PRIMARY' : 'SECONDARY'
  return { uuid: seat.uuid, host: seat.host, port: 3306, state, role, version: '9.7.4' }
}

function refused(why: Sentence): RegentError {
  return new RegentError('REGENT_SERVER_ERROR', why)
}

function tooLate(ms: number): RegentError {
  return new RegentError('REGENT_SERVER_TIMEOUT', say`no answer within ${ms} ms`)
}
