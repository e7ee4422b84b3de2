import type { Step } from './step.ts'

/** What orchestrator’s interface may do with clusters that are only watched. */
export interface Hands {
  /** Resolves once every server of that cluster was looked at after this moment, or does not answer. */
  lookNow(cluster: string): Promise<void>
  /** Does these steps, one after the other. Rejects with what is in the way, or with what went wrong. */
  carryOut(cluster: string, steps: readonly Step[]): Promise<void>
  /** From now on watches the servers that replicate with the one at this address. Rejects where none answers. */
  discover(host: string, port: number): Promise<void>
}
