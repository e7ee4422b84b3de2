import type { ModeName } from '#failover/protocol/mode-name.ts'
import type { TestCluster } from '../support/cluster.ts'
import type { Namespaces } from '../support/namespaces.ts'
import type { Dice } from './dice.ts'

/** What a fault finds when it strikes. */
export interface Scene {
  readonly cluster: TestCluster
  /** How the cluster replicates. */
  readonly mode: ModeName
  /** Each instance on a machine of its own; undefined where all share this one. */
  readonly network: Namespaces | undefined
  readonly dice: Dice
  readonly instances: readonly string[]
  /** As the record names them before the first fault of the round. */
  readonly primary: string
  readonly replicas: readonly string[]
}

/** Ends what a fault began: thaws, starts, mends, lets go. */
export type Heal = () => Promise<void>

export interface Fault {
  readonly name: string
  /** How often it is drawn, beside the others. */
  readonly weight: number
  /** Strikes with no other fault of its round: together they are more than durability covers. */
  readonly alone?: true
  readonly needsNetwork?: true
  /** What this is done to is there in one mode alone. */
  readonly mode?: ModeName
  /** More than one server takes writes for a moment, by the hand of a person. */
  readonly letsSeveralWrite?: true
  /** Fewer instances do not cover it. */
  readonly leastInstances?: number
  /**
   * Says in a few words what it did, and gives what ends it. Rejects where nothing could be done: its target was down
   * already.
   */
  strike(scene: Scene): Promise<{ readonly did: string; readonly heal?: Heal }>
}
