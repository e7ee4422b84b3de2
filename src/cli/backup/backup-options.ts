import type { ApiOptions, DryRunOptions, OutputOptions } from '../terminal/common-options.ts'
import type { BackupStoreOptions } from './store-options.ts'

export interface NowOptions extends DryRunOptions {
  readonly instance?: string
  readonly wait: boolean
}

/** Options of commands that a manager can answer, too. */
export interface AskedOptions extends ApiOptions, StoredOptions {}

export interface StoredOptions extends OutputOptions, BackupStoreOptions {
  readonly cluster?: string
}
