import type { PrimaryRoute } from '#common/ports/platform.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Member } from './group/member.ts'
import type { RemovalAsked } from './group/xcom-lines.ts'
import type { Machine } from './machine.ts'
import type { DataFolder } from './mysqld/data-folder.ts'

/** What those who script a schedule may wait for. */
export type Happening =
  | { readonly kind: 'ordered'; readonly machine: Machine; readonly path: string; readonly order: unknown }
  /** The store holds another record. */
  | { readonly kind: 'committed'; readonly before: ClusterRecord | undefined; readonly record: ClusterRecord }
  /** A server lets clients in. */
  | { readonly kind: 'opened'; readonly machine: Machine }
  /** An agent tells somebody what it sees. */
  | { readonly kind: 'said'; readonly machine: Machine; readonly observation: Observation }
  /** An agent has carried out an order, or answered a question. */
  | { readonly kind: 'answered'; readonly path: string; readonly order: unknown; readonly answer: unknown }
  /** Clients are sent somewhere else. */
  | { readonly kind: 'routed'; readonly route: PrimaryRoute }
  /** A server has formed a replication group. */
  | { readonly kind: 'formed'; readonly machine: Machine; readonly member: Member }
  /** Somebody asks members of a group to remove another one. */
  | { readonly kind: 'removing'; readonly asked: RemovalAsked }
  /** Members of a group have removed another incarnation than the one that was named. */
  | { readonly kind: 'anotherRemoved'; readonly member: Member }
  /** mysqld starts. */
  | { readonly kind: 'started'; readonly machine: Machine }
  /** One data folder takes the place of another, for good. */
  | { readonly kind: 'gaveUp'; readonly machine: Machine; readonly gone: DataFolder; readonly instead: DataFolder }
  /** The end of a binlog is cut off. */
  | { readonly kind: 'cut'; readonly machine: Machine; readonly tail: GtidSet }
