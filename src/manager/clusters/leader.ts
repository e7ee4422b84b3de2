import { describeError } from '#common/errors/errors.ts'
import type { Timer, World } from '#common/ports/ports.ts'
import type { LeadingStore } from '#store/store.ts'
import { oneAtATime } from '../loop/one-at-a-time.ts'

export interface LeaderOptions {
  readonly store: LeadingStore
  readonly world: World
  readonly manager: string
  readonly leadershipMs: number
  readonly changed: (leads: boolean) => Promise<void>
  readonly failed: (error: unknown) => void
  /** After each attempt: '' when the store answered, else why it did not. */
  readonly storeSaid: (trouble: string) => void
}

/**
 * Keeps this manager's claim to lead. Judged by the local monotonic clock from before each attempt: a manager that was
 * frozen finds its claim run out before it acts. Leadership only decides who works; safety rests on the record.
 */
export class Leader {
  readonly #options: LeaderOptions
  #timer: Timer | null = null
  #leads = false
  /** What was told last, taken up or not. */
  #told = false
  #untilMs = 0
  /** The last question for the lead; never rejects. */
  #claim: Promise<void> | undefined

  constructor(options: LeaderOptions) {
    this.#options = options
  }

  get leads(): boolean {
    return this.#leads && this.#holdsTheLead
  }

  /** By the last claim that the store took. */
  get #holdsTheLead(): boolean {
    return this.#options.world.clock.monotonicMs() < this.#untilMs
  }

  start(): void {
    const { world, leadershipMs } = this.#options
    this.#timer = world.timers.every(leadershipMs / 4, () => void this.#renew())
    void this.#renew()
  }

  async stop(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = null
    // A claim that arrives after the resignation would keep every manager from leading for as long as a lease lasts.
    await this.#claim
    if (this.#holdsTheLead)
      await this.#options.store.resign(this.#options.manager).catch((error: unknown) => this.#options.failed(error))
  }

  /** Nobody waits for what is told: by a slow store the lead would be lost each time that it is taken up. */
  readonly #renew = oneAtATime(
    async () => {
      await (this.#claim = this.#claimed())
      void this.#tell()
    },
    (error) => this.#options.failed(error),
  )

  async #claimed(): Promise<void> {
    const { store, world, manager, leadershipMs, failed, storeSaid } = this.#options
    const askedMs = world.clock.monotonicMs()
    try {
      const leadership = await store.lead(manager, leadershipMs)
      if (leadership) this.#untilMs = askedMs + leadershipMs
      storeSaid('')
    } catch (error) {
      failed(error)
      storeSaid(describeError(error))
    }
  }

  readonly #tell = oneAtATime(
    async () => {
      const leads = this.#holdsTheLead
      if (this.#timer === null || (leads === this.#leads && leads === this.#told)) return
      this.#told = leads
      if (!leads) this.#leads = false
      await this.#options.changed(leads)
      // Only now: a claim that could not be taken up, because the store was lost again at that moment, is taken up at
      // the next renewal.
      this.#leads = leads
    },
    (error) => this.#options.failed(error),
  )
}
