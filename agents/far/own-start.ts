/**
 * The start of a far mysqld to which the agent's sessions may belong. A service manager starts mysqld again at any
 * moment, and the new server comes up closed: what was decided for the server before is not done there. The agent talks
 * only to a start that it took for its own.
 */
export class OwnStart {
  #life: string | null = null
  /** Seconds; null until the first session of this life says so. */
  #startedAt: number | null = null
  #isForNobody = false

  /** The agent's own mysqld is the start `life`, at the moment `startedAt` where that is known. */
  is(life: string, startedAt: number | null = null): void {
    if (life === this.#life) return
    this.#life = life
    this.#startedAt = startedAt
  }

  /** The server ended, and no other start was taken yet. */
  isOver(): void {
    this.#life = null
  }

  /** Its agent has ended: whatever that still does, no session of it is let in any more. */
  end(): void {
    this.#isForNobody = true
  }

  /** Whether a session may go on with a mysqld that says that it started then. */
  allows(startedAt: number): boolean {
    if (this.#isForNobody) return false
    if (this.#life === null) return false
    this.#startedAt ??= startedAt
    return this.#startedAt === startedAt
  }
}
