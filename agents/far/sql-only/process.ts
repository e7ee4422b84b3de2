import { RegentError } from '#common/errors/errors.ts'
import type { Clock } from '#common/ports/ports.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Lack } from '#topology/snapshot/observation.ts'
import { isDown, type ProcessPort } from '#agents/ports/process.ts'
import { ShownFarProcess } from '#agents/far/shown-far-process.ts'
import type { Note } from '#agents/far/note.ts'
import type { OwnStart } from '#agents/far/own-start.ts'
import type { SqlPulse } from './pulse.ts'

export interface SqlOnlyProcessPorts {
  readonly clock: Clock
  readonly pulse: Pick<SqlPulse, 'startedAt' | 'whyUnseen' | 'onAnswer'>
  /** Nobody writes, and nothing is received or applied, once this has resolved. */
  readonly close: () => Promise<void>
  readonly ownStart: OwnStart
  /** Which mysqld it takes for its own. */
  readonly note: Note<Life>
}

/** What counts as one mysqld: a start of the server, or what was made of that start since its agent closed it. */
export interface Life {
  readonly startedAt: number
  readonly closings: number
  /** 1 once its agent has closed it. */
  readonly over: number
}

/**
 * The mysqld of a host that only SQL reaches. Nobody sees that process: while the server does not answer, nothing is
 * known, and its agent shows nothing (`SqlPulse.whyUnseen`). A service manager starts it, and then it comes up closed
 * (`look.ts`). Nothing can kill it. In place of that it is closed by SQL for good, with its replication stopped: for
 * this agent it is dead then, and the same server is the next mysqld, once the agent takes it.
 */
export class SqlOnlyProcess extends ShownFarProcess implements ProcessPort {
  readonly isClosedBySql = true
  readonly #ports: SqlOnlyProcessPorts
  #life: Life | null = null
  /** The server is being closed, to be the next mysqld: sessions that close it belong to that next one. */
  #isTaking = false

  constructor(ports: SqlOnlyProcessPorts) {
    super(ports.clock, '')
    this.#ports = ports
  }

  /** No number of any process: one for each life. */
  get pid(): number | null {
    return this.#life && this.#life.startedAt * 1_000 + (this.#life.closings % 1_000)
  }

  async adopt(): Promise<void> {
    const noted = await this.#ports.note.read()
    if (noted === undefined) await this.#take({ startedAt: this.#answeringSince(), closings: 0, over: 0 })
    else this.#life = noted
    this.#ports.pulse.onAnswer(() => this.#judge())
    this.#judge()
  }

  lookEvery(): void {
    // What answers a question costs nothing between two of them.
  }

  async start(): Promise<void> {
    if (!isDown(this)) return
    const startedAt = this.#answeringSince()
    const life = { startedAt, closings: (this.#life?.closings ?? 0) + 1, over: 0 }
    this.#owns(life)
    this.#isTaking = true
    try {
      await this.#ports.close()
      await this.#take(life)
    } finally {
      this.#isTaking = false
      this.#judge()
    }
  }

  lacks(): Promise<readonly Lack[]> {
    return Promise.resolve([])
  }

  async kill(): Promise<void> {
    const life = this.#life
    if (life === null || isDown(this)) return
    await this.#ports.close()
    await this.#take({ ...life, over: 1 })
    this.#judge()
  }

  #answeringSince(): number {
    const { startedAt, whyUnseen } = this.#ports.pulse
    if (startedAt !== null && whyUnseen === null) return startedAt
    const why = say`mysqld does not answer, and nobody can start it by SQL alone: start mysqld on its host`
    throw new RegentError('REGENT_FAR_CANNOT', why)
  }

  async #take(life: Life): Promise<void> {
    await this.#ports.note.write(life)
    this.#life = life
  }

  #judge(): void {
    const { startedAt } = this.#ports.pulse
    if (this.#life === null || startedAt === null || this.#isTaking) return
    if (this.#life.startedAt !== startedAt || this.#life.over === 1) this.#ports.ownStart.isOver()
    if (this.#life.startedAt !== startedAt)
      return this.become('dead', say`it ended; mysqld came up closed since, and waits`)
    if (this.#life.over === 1) return this.become('dead', say`its agent closed it by SQL, and it waits`)
    this.#owns(this.#life)
    this.become('running', '')
  }

  #owns({ startedAt, closings }: Life): void {
    this.#ports.ownStart.is(`${startedAt} ${closings}`, startedAt)
  }
}
