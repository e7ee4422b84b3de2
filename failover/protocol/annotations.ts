import type { InstanceName } from '#topology/snapshot/member.ts'
import type { InstancePolicy } from './instance-policy.ts'

/** What people said of a cluster beside its spec. No order depends on these for safety; they survive managers. */
export interface Annotations {
  /** Another name of the cluster. */
  readonly alias?: string
  /** Names with values, by instance. */
  readonly tags?: Readonly<Record<InstanceName, Readonly<Record<string, string>>>>
  /** Instances by the name of a pool. */
  readonly pools?: Readonly<Record<string, readonly InstanceName[]>>
  /** People who have read of a recovery, by its id. */
  readonly acknowledged?: Readonly<Record<string, Acknowledgement>>
  /** Instances that somebody does not want to be shown any more. They go on as before. */
  readonly hidden?: readonly InstanceName[]
  /** In the place of what the spec says, for a while. */
  readonly promotions?: Readonly<Record<InstanceName, Promotion>>
  /** The person or tool that alone rearranges an instance for a while. */
  readonly maintenances?: Readonly<Record<InstanceName, Maintenance>>
}

export interface Acknowledgement {
  readonly wallMs: number
  readonly by: string
  readonly comment: string
}

interface Promotion extends InstancePolicy {
  readonly untilWallMs: number
}

export interface Maintenance {
  /** By which it is ended. No other one has the same. */
  readonly id: number
  readonly owner: string
  readonly reason: string
  readonly beganWallMs: number
  readonly untilWallMs: number
}

/** As JSON: notes are read and written as a whole. */
export const longestAnnotations = 32_768
