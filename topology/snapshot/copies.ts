import { mebibytes, say, text, type Sentence } from '#common/sentence/sentence.ts'
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

/** `backup 20261126T031209Z: 12.0 MiB of data are in the store`. */
export function describeBackup({ name, stage, rawBytes, sentence }: BackupSeen): Sentence {
  switch (stage) {
    case 'copies':
      return say`backup ${name}: the data are copied`
    case 'sends':
      return say`backup ${name}: ${mebibytes(rawBytes)} of data are in the store`
    case 'done':
      return say`backup ${name} is made: ${mebibytes(rawBytes)} of data`
    case 'failed':
      return say`backup ${name} failed: ${text(sentence)}`
  }
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
