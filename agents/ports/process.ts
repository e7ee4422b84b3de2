import type { Said } from '#common/sentence/sentence.ts'
import type { Lack, ProcessState } from '#topology/snapshot/observation.ts'

/** What became of a process, with why the process is absent or dead. */
export function withNote(what: string, { note }: Pick<ProcessPort, 'note'>): string {
  return note === '' ? what : `${what}: ${String(note)}`
}

export function isDown({ state }: Pick<ProcessPort, 'state'>): boolean {
  return state === 'dead' || state === 'absent'
}

/** What its files hold is all that they will hold, until a start. */
export function hasWrittenAll({ state, writesNoMore }: Pick<ProcessPort, 'state' | 'writesNoMore'>): boolean {
  return isDown({ state }) || (state === 'exiting' && writesNoMore === true)
}

/** A mysqld on the volume that the agent did not start. */
export interface OtherServer {
  readonly pid: number
  /** The server came up closed, with the settings of the agent and no other. */
  readonly startedClosed: boolean
  /** SIGKILL, as `kill`. */
  end(): Promise<void>
}

/** The mysqld process of one instance, which outlives its agent. */
export interface ProcessPort {
  readonly state: ProcessState
  readonly pid: number | null
  /**
   * While it is `exiting`: none of its threads makes a system call any more, so that nobody writes to its files. The
   * kernel gives its memory back long after that (150 ms, seen on 9.7). Absent for no.
   */
  readonly writesNoMore?: boolean
  /** Why it is absent or dead; '' otherwise. */
  readonly note: Said
  /**
   * The settings that mysqld refuses, in its own words; '' or absent where it refuses none. A mysqld that runs goes on
   * with those of before.
   */
  readonly settingsRefused?: string
  /** mysqld came up with the settings of its last good start, and the refused ones are why it did not before. */
  readonly settingsRolledBack?: boolean
  /** Why the last start did not come up, in mysqld's own words; '' or absent once one did. */
  readonly startFailed?: string
  /** So many starts in a row did not come up; 0 or absent once one did, and where nobody counts. */
  readonly startsFailed?: number
  /** No signal reaches it: `kill` closes the server by SQL, and nobody here can end one that hangs. Absent for no. */
  readonly isClosedBySql?: boolean
  /** Monotonic milliseconds of the last change of `state`. */
  readonly changedAtMs: number
  /** Finds a mysqld that an earlier agent started (pid file, start time compared). */
  adopt(): Promise<void>
  /** Called after each change of state, at most as long after it happened as `lookEvery` said, or `processWatchMs`. */
  onChange(changed: () => void): void
  lookEvery(ms: number): void
  /** True when there is no data yet: nothing in the data folder. */
  isEmpty(): Promise<boolean>
  /** `mysqld --initialize` with accounts and Regent's schema, into a fresh folder, then renamed into place. */
  initialise(): Promise<void>
  /**
   * Starts mysqld: always super_read_only, offline_mode, replication stopped, semi-sync off. Resolves when the process
   * exists.
   */
  start(): Promise<void>
  /** The next start makes the agent's own accounts right, before anybody can log in: nobody could do so later. */
  accountsAtStart(): void
  /**
   * Removes what was written for such a start: passwords are in it. Not before the server answers: its pid file is
   * there before it reads that (seen on 9.7).
   */
  dropAccountsFile(): Promise<void>
  /** What is short or gone at the machine that a promotion or the next start rests upon. */
  lacks(): Promise<readonly Lack[]>
  /** Puts right of that what can be put right while mysqld runs. */
  supply(): Promise<void>
  /**
   * The mysqld that another hand started on the volume while none of the agent is there; null for none. Absent where
   * the host's own service manager starts mysqld.
   */
  findOther?(): Promise<OtherServer | null>
  /** SIGKILL; resolves when it is gone. Never SIGTERM (docs/why/safety.md, "A stop nobody ordered"). */
  kill(): Promise<void>
}
