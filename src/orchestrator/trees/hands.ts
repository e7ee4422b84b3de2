import type { RecoveryBegun, RecoveryEnded } from '#manager/clusters/watched.ts'
import type { Change } from './step.ts'

/** What orchestrator’s interface may do with clusters that are only watched. */
export interface Hands {
  /**
   * Resolves once every server of that cluster was looked at after this moment, or does not answer. Finishes first what
   * a change has left behind.
   */
  lookNow(cluster: string): Promise<void>
  /** Does these steps, one after the other. Rejects with what is in the way, or with what went wrong. */
  carryOut(cluster: string, change: Change): Promise<void>
  /** Notes a recovery that somebody asked for. Throws where another one goes on. */
  begin(cluster: string, begun: RecoveryBegun): RecoveryUnderWay
  /**
   * From now on watches the servers that replicate with the server at this address. Resolves to the address by which
   * that server is known, where the two differ. Rejects where none answers.
   */
  discover(host: string, port: number): Promise<KnownAddress | undefined>
}

/** While it goes on nothing else is changed in its cluster. */
export interface RecoveryUnderWay {
  readonly id: string
  /** As `carryOut`; resolves to what could not be done once somebody led, a sentence each. */
  carryOut(change: Change): Promise<readonly string[]>
  tell(what: string): void
  end(ended: RecoveryEnded): void
}

interface KnownAddress {
  readonly host: string
  readonly port: number
}
