import type { DecisionInput } from '#failover/judge/situation.ts'
import type { Annotations } from '#failover/protocol/annotations.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import type { Answers, StoreQuestions } from '#failover/protocol/word.ts'
import type { AgentView } from '#api-contract/agent-view.ts'
import type { ExplainView } from '#api-contract/explain-view.ts'
import type { OperationResult } from '#api-contract/operation-result.ts'
import type { OperationName, OperationRequest } from '#api-contract/operations.ts'
import type { ClusterView, TopologyView } from '#api-contract/views.ts'
import type { Watched } from './watched.ts'

/**
 * What the HTTP API needs of the cluster loops. Every method throws or rejects with `REGENT_NOT_FOUND`, listing what
 * there is, for a cluster, instance or recovery that does not exist.
 */
export interface ClusterService {
  /** The manager leads; a manager that does not lead changes nothing. */
  readonly leads: boolean
  list(): readonly ClusterView[]
  /** What each cluster is judged by: cheaper than a view of each. */
  known(): readonly KnownCluster[]
  view(cluster: string): ClusterView
  topology(cluster: string): TopologyView
  explain(cluster: string): ExplainView
  /** Asks each agent at that moment. */
  agents(cluster: string): Promise<readonly AgentView[]>
  /** Has an agent look into the store of backups. Rejects as `askAboutStore` does. */
  askAboutStore<N extends keyof StoreQuestions>(
    cluster: string,
    question: N,
    asked: StoreQuestions[N],
  ): Promise<Answers[N]>
  /** Newest first. */
  recoveries(cluster: string): readonly Recovery[]
  recovery(cluster: string, id: string): Recovery

  /**
   * Resolves when the operation is done, and rejects with `REGENT_REFUSED` (what stands in the way) or
   * `REGENT_TIMED_OUT` (what was undone). A dry run changes nothing and resolves to what would be done.
   */
  operate<N extends OperationName>(
    cluster: string,
    operation: N,
    request: OperationRequest<N>,
  ): Promise<OperationResult>

  /** Changes durably what people said of a cluster. Rejects with `REGENT_TOO_LARGE` where that is more than is kept. */
  annotate(cluster: string, change: (said: Annotations) => Annotations): Promise<void>

  /** Calls `listener` with every change until the returned function is called. The listener does not throw. */
  subscribe(cluster: string, listener: (event: ClusterEvent) => void): () => void
}

export interface KnownCluster extends Pick<
  DecisionInput,
  'snapshot' | 'record' | 'spec' | 'notes' | 'timings' | 'nowMs' | 'wallMs'
> {
  /** As the API names it. */
  readonly name: string
  /** Absent for a cluster that Regent manages. */
  readonly watched?: Watched
  /** Whom a name of the network leads to; absent where the platform gives none. */
  readonly atHost?: (host: string) => NamedByHost | undefined
}

/** Whom such a name leads to, among the instances of a cluster. */
export type NamedByHost = { readonly instance: string } | 'primary'

/** Something of the cluster is different now; `gone`: nothing more comes, and another may be there under its name. */
export type ClusterEvent = { readonly type: 'state'; readonly view: ClusterView } | { readonly type: 'gone' }
