import type { Recovery } from '#failover/protocol/notes.ts'
import type { ExplainView } from '#api-contract/explain-view.ts'
import type { OperationResult } from '#api-contract/operation-result.ts'
import type { ClusterView, TopologyView } from '#api-contract/views.ts'

/**
 * What the HTTP API needs of the cluster loops. Every method throws or rejects with `REGENT_NOT_FOUND`, listing what
 * there is, for a cluster, instance or recovery that does not exist.
 */
export interface ClusterService {
  /** This manager leads; one that does not changes nothing. */
  readonly leads: boolean
  list(): readonly ClusterView[]
  view(cluster: string): ClusterView
  topology(cluster: string): TopologyView
  explain(cluster: string): ExplainView
  /** Newest first. */
  recoveries(cluster: string): readonly Recovery[]
  recovery(cluster: string, id: string): Recovery

  /**
   * Operations resolve when they are done, and reject with `REGENT_REFUSED` (what stands in the way) or
   * `REGENT_TIMED_OUT` (what was undone). A dry run changes nothing and resolves to what would be done.
   */
  switchover(cluster: string, request: SwitchoverRequest): Promise<OperationResult>
  failover(cluster: string, request: FailoverRequest): Promise<OperationResult>
  fence(cluster: string, request: FenceRequest): Promise<OperationResult>
  unfence(cluster: string, request: UnfenceRequest): Promise<OperationResult>
  pause(cluster: string, request: PauseRequest): Promise<OperationResult>
  resume(cluster: string, request: ResumeRequest): Promise<OperationResult>
  downtime(cluster: string, request: DowntimeRequest): Promise<OperationResult>
  endDowntime(cluster: string, request: EndDowntimeRequest): Promise<OperationResult>
  scale(cluster: string, request: ScaleRequest): Promise<OperationResult>
  replace(cluster: string, request: ReplaceRequest): Promise<OperationResult>

  /** Calls `listener` with every change until the returned function is called. The listener does not throw. */
  subscribe(cluster: string, listener: (event: ClusterEvent) => void): () => void
}

interface Request {
  readonly dryRun: boolean
}

export interface SwitchoverRequest extends Request {
  /** Who has to be the primary; undefined or absent = whoever is. */
  readonly from?: string | undefined
  /** Instance; undefined = the best one. */
  readonly to: string | undefined
  /** Undefined = as in the cluster's spec. */
  readonly timeoutMs: number | undefined
  readonly reason: string
}

export interface FailoverRequest extends Request {
  readonly to: string | undefined
  readonly acceptLoss: boolean
}

export interface FenceRequest extends Request {
  readonly instance: string
  readonly keepPrimary: boolean
}

export interface UnfenceRequest extends Request {
  readonly instance: string
}

export interface PauseRequest extends Request {
  readonly reason: string
}

export type ResumeRequest = Request

export interface DowntimeRequest extends Request {
  readonly instance: string
  readonly forMs: number
  readonly reason: string
  /** '' where nobody gave a name. */
  readonly owner: string
}

export interface EndDowntimeRequest extends Request {
  readonly instance: string
}

export interface ScaleRequest extends Request {
  readonly instances: number
}

export interface ReplaceRequest extends Request {
  readonly instance: string
  readonly acceptLoss: boolean
}

/** Something of the cluster is different now. */
export interface ClusterEvent {
  readonly type: 'state'
  readonly view: ClusterView
}
