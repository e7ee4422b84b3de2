import type { Blocker } from '#agents/ports/server.ts'

/** `FLUSH TABLES WITH READ LOCK` and `LOCK INSTANCE FOR BACKUP`. */
export type Lock = 'the global read lock' | 'the backup lock'

interface Held {
  readonly session: number
  readonly lock: Lock
  readonly sinceMs: number
}

/** Locks that sessions of others hold. */
export class Locks {
  readonly #nowMs: () => number
  readonly #released: () => void
  #held: readonly Held[] = []
  #lastSession = 1_000

  /** @param released is called after each release */
  constructor(nowMs: () => number, released: () => void) {
    this.#nowMs = nowMs
    this.#released = released
  }

  /** By hand, in a session that stays. Gives what ends that session. */
  take(lock: Lock): () => void {
    const session = (this.#lastSession += 1)
    this.#held = [...this.#held, { session, lock, sinceMs: this.#nowMs() }]
    return () => this.end(session)
  }

  /** No transaction begins to commit meanwhile. */
  get holdUpCommits(): boolean {
    return this.#held.some(({ lock }) => lock === 'the global read lock')
  }

  /** Account changes are DDL: both locks are in their way. */
  get holdUpAccounts(): boolean {
    return this.#held.length > 0
  }

  /** What stands in the way of a statement that begins so. */
  blockersOf(behind: string): readonly Blocker[] {
    return this.#held.map(({ session, lock, sinceMs }) => ({
      session,
      user: 'admin',
      host: 'localhost',
      lock,
      waits: false,
      seconds: Math.floor((this.#nowMs() - sinceMs) / 1_000),
      commits: false,
      mayCommit: lock !== 'the global read lock',
      behind,
    }))
  }

  end(session: number): void {
    this.#keep(({ session: other }) => other !== session)
  }

  endAll(): void {
    this.#keep(() => false)
  }

  #keep(stays: (held: Held) => boolean): void {
    const left = this.#held.filter(stays)
    if (left.length === this.#held.length) return
    this.#held = left
    this.#released()
  }
}
