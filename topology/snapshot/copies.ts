import type { InstanceName } from './member.ts'

/** How a base backup goes that is made of an instance. */
export interface BackupSeen {
  readonly name: string
  readonly stage: 'copies' | 'sends' | 'done' | 'failed'
  /** Of the data, as far as they are in the store. */
  readonly rawBytes: number
  /** What lies in the store of that. */
  readonly storedBytes: number
  /** Why it failed; '' otherwise. */
  readonly sentence: string
}

/** How often a donor gave no whole copy. */
export interface SeedingFailure {
  readonly donor: InstanceName
  /** How often, and why the last time. */
  readonly times: number
  readonly error: string
  /** Milliseconds since the last time. */
  readonly agoMs: number
}
