import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection, ResultSetHeader } from 'mysql2/promise'
import type { TestCluster } from '../../support/cluster.ts'
import { answerWithin, openSession, queryWithin } from '../../support/sql-session.ts'
import type { Dice } from '../dice.ts'
import type { Entry } from './diary.ts'
import { kinds, type Kind } from './kinds.ts'

const loginMs = 1_000
/** Longer than a failover, and than 20 MB on a busy machine. */
const attemptMs = 60_000
const betweenMs = 20

/** A client that keeps a diary: what was tried, when, and what the server said. One transaction at a time. */
export class Diarist {
  readonly entries: Entry[] = []
  readonly #cluster: TestCluster
  readonly #dice: Dice
  readonly #table = kinds.flatMap((kind) => Array.from({ length: kind.weight }, () => kind))
  readonly #running: Promise<void>
  #id: number
  #session: Connection | undefined
  #stopped = false

  /** @param firstId with a range of numbers behind that no other client uses */
  constructor(cluster: TestCluster, dice: Dice, firstId: number) {
    this.#cluster = cluster
    this.#dice = dice
    this.#id = firstId
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await this.#attempt(this.#dice.pick(this.#table)).catch(() => this.#leave())
      await sleep(betweenMs)
    }
    this.#leave()
  }

  #leave(): void {
    this.#session?.destroy()
    this.#session = undefined
  }

  async #attempt(kind: Kind): Promise<void> {
    const session = (this.#session ??= await this.#open())
    const id = this.#id++
    const beganMs = Date.now()
    const { commit, left } = await kind.write(id, (statement) => queryWithin(session, statement, attemptMs))
    const entry = { kind: kind.name, id, beganMs, left }
    try {
      const answer = await answerWithin(session, commit, attemptMs)
      this.entries.push({ ...entry, ackedMs: Date.now(), gtid: gtidOf(answer) })
    } catch (error) {
      this.entries.push({ ...entry, ackedMs: null, gtid: null })
      throw error
    }
  }

  async #open(): Promise<Connection> {
    const primary = await this.#cluster.primary()
    const { host, port } = await this.#cluster.instance(primary)
    const login = await this.#cluster.login('client')
    const session = await openSession({ host, port, ...login, database: 'app' }, loginMs)
    await queryWithin(session, 'set session session_track_gtids = OWN_GTID', attemptMs)
    return session
  }
}

function gtidOf(answer: unknown): string | null {
  const { stateChanges } = answer as ResultSetHeader & {
    readonly stateChanges?: { readonly gtids?: readonly string[] }
  }
  return stateChanges?.gtids?.at(-1) ?? null
}
