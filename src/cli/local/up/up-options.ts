import type { BackupToRestore } from '#failover/protocol/backup-store.ts'
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
  readonly orchestratorPort?: number
  readonly orchestratorHosts?: 'address' | 'name'
  readonly hosts?: string
  readonly config?: string
  readonly store?: string
  readonly router?: boolean
  readonly routerConfig?: string
  /** The backup that a new cluster begins with. */
  readonly restore?: BackupToRestore
}
