import type { ApiClient } from './api-client.ts'

/** A manager, and the cluster that a command is about. */
export interface Connection {
  readonly client: ApiClient
  /** As people name it. */
  readonly cluster: string
  /** Path of the cluster below /api/v1. */
  readonly path: string
}

/** Where a command looks for its cluster: this machine, a manager's URL, or Kubernetes. */
export interface Place extends AsyncDisposable {
  /** Tells `recoveries demo` from `recoveries <id>`. */
  isCluster(word: string): Promise<boolean>
  /** The manager of the cluster named, or of the only one. Throws `REGENT_NOT_FOUND`, listing what there is. */
  connect(wanted: string | undefined): Promise<Connection>
}
