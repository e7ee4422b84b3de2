import type { HookMoment } from './hook-moments.ts'
import type { Recovery } from './notes.ts'

/** An instance as hooks are told of it. */
export interface ToldInstance {
  readonly instance: string
  readonly host: string
  readonly port: number
}

/** What a hook is told: the body of a webhook, and standard input of a command. Fields are added, and never change. */
export interface HookDocument {
  readonly version: 1
  /** Somebody tries the hooks: nothing has happened. */
  readonly test: boolean
  readonly moment: HookMoment
  /** The same for each try of one run, and no other: who receives a key twice has done it already. */
  readonly key: string
  /** The whole in one sentence, for people. */
  readonly text: string
  readonly cluster: string
  /** On Kubernetes alone. */
  readonly namespace?: string
  readonly mode: string
  readonly recovery: Pick<Recovery, 'id' | 'kind' | 'outcome' | 'sentence' | 'fromEpoch' | 'toEpoch'> & {
    readonly startedAt: string
    /** By name, such as DeadPrimary; '' where nothing was wrong. */
    readonly failureType: string
    readonly analysis: string
  }
  /** Nobody asked for it. */
  readonly automatic: boolean
  /** The primary before; null where there was none. */
  readonly failed: ToldInstance | null
  /** The primary after, or who is to be; null while that is not known. */
  readonly successor: ToldInstance | null
  /** Instances that follow, or should. */
  readonly replicas: readonly ToldInstance[]
  /** Replicas that do not answer. */
  readonly lostReplicas: readonly ToldInstance[]
  /** What the successor has executed, by its agent's last word; '' where that is not known. */
  readonly successorGtids: string
  /** The machine of the manager. */
  readonly manager: string
}
