import type { ServerPort } from '#agents/ports/server.ts'
import type { VolumePort } from '#agents/ports/volume.ts'

/** What a client has heard of its write. `lost`: the session ended first. `refused`: the server took no writes. */
export type Heard = 'nothing' | 'OK' | 'lost' | 'refused'

/** A write that a client has begun. */
export interface StagedWrite {
  readonly heard: Heard
  /** Waits until the client has heard something. */
  ends(): Promise<Heard>
  /** `KILL CONNECTION` of the client's session. */
  kill(): Promise<void>
}

export type Lock = 'the global read lock' | 'the backup lock'

/** A session that holds a lock. */
export interface LockHolder {
  release(): Promise<void>
}

/** One mysqld, real or simulated: what its agent has to move that server, and what others may do to that server. */
export interface StagedServer {
  readonly name: string
  readonly port: ServerPort
  readonly volume: VolumePort
  /** Resolves once the server answers. It is closed then. */
  start(): Promise<void>
  /** SIGKILL. Resolves when the process is gone. */
  kill(): Promise<void>
  /** SIGTERM of a stranger. Resolves when the process is gone. */
  terminate(): Promise<void>
  /** An insert of a client. Resolves when the statement is on its way, not when it is answered. */
  write(): Promise<StagedWrite>
  /** Inserts of clients that commit as one group. The first is the leader. */
  writeTogether(count: number): Promise<readonly StagedWrite[]>
  /** How another server follows this one. */
  sourceFor(replica: StagedServer): Parameters<ServerPort['pointTo']>[0]
  /** By hand: `STOP REPLICA; CHANGE REPLICATION SOURCE TO …` with an option that changes nothing. */
  changeSourceWithBothStopped(): Promise<void>
  /** By hand, in a session that stays. */
  takeLock(lock: Lock): Promise<LockHolder>
}

/** Where a script plays: servers that were never written to, and time. */
export interface Stage {
  readonly servers: readonly StagedServer[]
  /** Looks again and again; fails, naming what was waited for. */
  readonly until: (look: () => boolean | Promise<boolean>, what: string) => Promise<void>
  readonly sleep: (ms: number) => Promise<void>
}

/** Writes down what is seen. Server uuids become A, B, C, in the order in which they are seen. */
export type Note = (what: string, seen: unknown) => void

/** Steps that are played with real servers and with simulated ones, and what is seen by the way. */
export interface Script<On extends Stage = Stage> {
  /** A sentence that is true of both. */
  readonly title: string
  readonly servers: number
  readonly play: (stage: On, note: Note) => Promise<void>
  /** Lines of `what: seen`. */
  readonly seen: readonly string[]
}

/** Plays a script and gives what was seen. */
export async function playScript<On extends Stage>({ play }: Script<On>, stage: On): Promise<readonly string[]> {
  const letters = new Map<string, string>()
  const lines: string[] = []
  await play(stage, (what, seen) => {
    const text = typeof seen === 'string' ? seen : JSON.stringify(seen)
    const named = text.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (uuid) => {
      const letter = letters.get(uuid) ?? String.fromCharCode(65 + letters.size)
      letters.set(uuid, letter)
      return letter
    })
    // A server prints a set in the order of its uuids.
    const ordered = named.replace(/\b[A-Z]:[\d:-]+(?:,[A-Z]:[\d:-]+)+/g, (set) => set.split(',').toSorted().join())
    lines.push(`${what}: ${ordered}`)
  })
  return lines
}
