import type { DryRunOptions, OutputOptions } from '../terminal/common-options.ts'
import type { BackupStoreOptions } from './store-options.ts'

export interface NowOptions extends DryRunOptions {
  readonly instance?: string
  readonly wait: boolean
}

export interface StoredOptions extends OutputOptions, BackupStoreOptions {
  readonly cluster?: string
}
