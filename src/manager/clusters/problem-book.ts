import { keyOfProblem, type ClusterProblem } from '#api-contract/views.ts'

export type FoundProblem = Omit<ClusterProblem, 'since'>

/** Since when each thing has been wrong. */
export class ProblemBook {
  #since: ReadonlyMap<string, number> = new Map()

  /** @param found all that is wrong now: what is not among these has ended */
  note(found: readonly FoundProblem[], wallMs: number): readonly ClusterProblem[] {
    const before = this.#since
    const now = new Map<string, number>()
    const problems = found.map((one) => {
      const key = keyOfProblem(one)
      const sinceMs = before.get(key) ?? wallMs
      now.set(key, sinceMs)
      return { ...one, since: new Date(sinceMs).toISOString() }
    })
    this.#since = now
    return problems
  }
}
