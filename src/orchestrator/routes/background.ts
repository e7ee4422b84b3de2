import { describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Logger } from '#common/log/logger.ts'

/** More are sent away. Each of them ends by deadlines of its own. */
const mostAtOnce = 20

/** Work that nobody waits for: once at a time for each name, with a limit, and what fails is said in the log. */
export class Background {
  readonly #log: Logger
  readonly #going = new Set<string>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** Does nothing where that goes on already. Throws `REGENT_REFUSED` where too much goes on. */
  begin(name: string, work: () => Promise<unknown>): void {
    if (this.#going.has(name)) return
    if (this.#going.size >= mostAtOnce)
      throw new RegentError('REGENT_REFUSED', say`${mostAtOnce} discoveries go on already; ask again later`, {
        remedy: '',
      })
    this.#going.add(name)
    void this.#run(name, work)
  }

  async #run(name: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#log.warn({ err: error }, `${name} failed: ${describeError(error)}`)
    } finally {
      this.#going.delete(name)
    }
  }
}
