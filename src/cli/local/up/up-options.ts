import type { ModeName } from '#failover/protocol/mode-name.ts'
import type { OutputOptions } from '#cli/terminal/common-options.ts'

/** What the command line says of a local cluster that is to be up. */
export interface UpOptions extends OutputOptions {
  readonly instances?: number
  readonly mode?: ModeName
  readonly acks?: number
  readonly durability?: 'strict' | 'available'
  readonly data?: string
  readonly port?: number
  readonly hosts?: string
  readonly config?: string
  readonly store?: string
}
