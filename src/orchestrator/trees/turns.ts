import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

/** More who wait for one cluster are sent away. Each of them has deadlines of its own, so nobody waits for ever. */
const mostWaiting = 20

/**
 * Changes of watched trees, one at a time for each cluster, from the look at the servers to the last step: who plans on
 * what another one is about to change would make rings.
 */
export class Turns {
  readonly #lines = new Map<string, Promise<unknown>[]>()

  /** Runs once those who came before have ended, however they ended. Throws `REGENT_REFUSED` where too many wait. */
  async inTurn<Result>(cluster: string, run: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(cluster) ?? []
    if (line.length > mostWaiting) throw isBusy(cluster)
    const turn = (line.at(-1) ?? Promise.resolve()).then(run, run)
    this.#lines.set(cluster, [...line, turn])
    try {
      return await turn
    } finally {
      const left = (this.#lines.get(cluster) ?? []).filter((each) => each !== turn)
      if (left.length === 0) this.#lines.delete(cluster)
      else this.#lines.set(cluster, left)
    }
  }

  /** Throws `REGENT_REFUSED` unless nothing is under way: what was meant of a tree is perhaps done by that. */
  async alone<Result>(cluster: string, run: () => Promise<Result>): Promise<Result> {
    if (this.#lines.has(cluster)) throw isBusy(cluster)
    return this.inTurn(cluster, run)
  }
}

function isBusy(cluster: string): RegentError {
  return new RegentError('REGENT_REFUSED', say`${cluster} is being changed just now; ask again later`, { remedy: '' })
}
