import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

/** Counts calls. A call counts until it has ended, also where its caller went away. */
export class CallLimit {
  readonly #most: number
  #running = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Throws `REGENT_BUSY` where one more call would be too many. */
  check(): void {
    if (this.#running >= this.#most)
      throw new RegentError(
        'REGENT_BUSY',
        say`${this.#most} calls run already (--max-concurrency); ask again when one has ended`,
      )
  }

  /** Throws as `check`, and what the call throws. */
  async run<Result>(call: () => Promise<Result>): Promise<Result> {
    this.check()
    this.#running += 1
    try {
      return await call()
    } finally {
      this.#running -= 1
    }
  }
}
