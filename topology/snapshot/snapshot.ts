import type { InstanceName, MemberId } from './member.ts'
import type { Observation } from './observation.ts'

/** The newest observations of a cluster's instances, plus what the manager itself knows of reachability. */
export interface Snapshot {
  /** Instances the platform says exist, in order of their ordinals. */
  readonly instances: readonly InstanceView[]
}

export interface InstanceView {
  readonly name: InstanceName
  readonly host: string
  readonly port: number
  /** `host:port` of the agent. */
  readonly agent: string
  /** Newest observation; null when this manager never heard one. */
  readonly observation: Observation | null
  /** Monotonic milliseconds at which this manager heard of it last; null for never. */
  readonly heardAtMs: number | null
  /** The stream is open and heartbeats arrive in time. */
  readonly reachable: boolean
  /** What the place where it runs says of an instance that is not there as it should be. Absent for nothing. */
  readonly trouble?: string
  /** The place is starting it, and nothing is known to stand in the way. Absent for no. */
  readonly starting?: true
  /** Its volume went back in time: whom its agent takes itself for. Its observation then has the name of nobody. */
  readonly past?: MemberId
}

/** Its own agent says that there is no mysqld: what the kernel is tearing down answers nobody any more. */
export function isGone({ process }: Pick<Observation, 'process'>): boolean {
  return process === 'dead' || process === 'exiting' || process === 'absent'
}
