import type { Connection } from 'mysql2/promise'
import { clientAccount, type BareMember } from './bare-group.ts'
import { monotonicMs } from './monotonic.ts'
import { openSession, queryWithin } from './sql-session.ts'

export interface GroupWrite {
  readonly id: number
  readonly by: string
  readonly ackedMs: number
}

const pauseMs = 10
const attemptMs = 400

/** Writes one row every 10 ms to whichever member takes it, and keeps which ones were acknowledged, when, by whom. */
export class GroupWriter {
  readonly acknowledged: GroupWrite[] = []
  readonly #members: readonly BareMember[]
  readonly #sessions = new Map<BareMember, Connection>()
  readonly #heard = new Set<() => void>()
  readonly #running: Promise<void>
  #isStopped = false
  #next = 1

  constructor(members: readonly BareMember[]) {
    this.#members = members
    this.#running = this.#run()
  }

  /** The first write acknowledged after `sinceMs` by another member than `notBy`. */
  async next(sinceMs: number, notBy?: BareMember, deadlineMs = 30_000): Promise<GroupWrite> {
    const endMs = monotonicMs() + deadlineMs
    for (;;) {
      const found = this.acknowledged.find(({ ackedMs, by }) => ackedMs > sinceMs && by !== notBy?.address)
      if (found !== undefined) return found
      if (monotonicMs() > endMs) throw new Error(`no write was acknowledged within ${deadlineMs} ms`)
      await new Promise<void>((resolve) => this.#heard.add(resolve))
    }
  }

  /** The longest time between two acknowledged writes one after the other, both at or after `sinceMs`. */
  longestPauseMs(sinceMs: number): number {
    const times = this.acknowledged.map(({ ackedMs }) => ackedMs).filter((ms) => ms >= sinceMs)
    return Math.max(0, ...times.map((ms, at) => ms - (times[at - 1] ?? ms)))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
    for (const session of this.#sessions.values()) session.destroy()
  }

  async #run(): Promise<void> {
    let at = 0
    while (!this.#isStopped) {
      const member = this.#members[at % this.#members.length] as BareMember
      if (!(await this.#write(member))) at += 1
      for (const wake of this.#heard) wake()
      this.#heard.clear()
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  /** Whether it was acknowledged. Each attempt has an id of its own: one that failed may have been written. */
  async #write(member: BareMember): Promise<boolean> {
    const id = this.#next++
    try {
      await queryWithin(await this.#session(member), `insert into app.writes (id) values (${id})`, attemptMs)
      this.acknowledged.push({ id, by: member.address, ackedMs: monotonicMs() })
      return true
    } catch (error) {
      // A member that is read-only says so; any other trouble may be with the session.
      if ((error as { readonly errno?: number }).errno !== 1290) this.#forget(member)
      return false
    }
  }

  async #session(member: BareMember): Promise<Connection> {
    const known = this.#sessions.get(member)
    if (known !== undefined) return known
    const session = await openSession({ host: member.host, port: member.port, ...clientAccount }, attemptMs)
    this.#sessions.set(member, session)
    return session
  }

  #forget(member: BareMember): void {
    this.#sessions.get(member)?.destroy()
    this.#sessions.delete(member)
  }
}
