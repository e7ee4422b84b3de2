import { Type } from 'typebox'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import type { PrintedAnalysis } from '#topology/analysis/analysis.ts'
import {
  groupSchema,
  nullable,
  routerField,
  type ClusterView,
  type RouterView,
  wayOutField,
  writableUnknownField,
} from './views.ts'

/** Why a cluster is as it is: the last decision with its reasons, and what it was decided from. */
export interface ExplainView {
  readonly sentence: string
  readonly blocked: boolean
  readonly wayOut?: string
  readonly writableUnknown?: NonNullable<ClusterView['writableUnknown']>
  /** What the place where the instances run says of those that are not there as they should be. */
  readonly place?: readonly string[]
  /** What agents are at, or what stands in their way. */
  readonly agents?: readonly string[]
  /** Reasons for what was not chosen or not done, one line each. */
  readonly reasons: readonly string[]
  readonly router?: RouterView
  readonly analyses: readonly PrintedAnalysis[]
  /** In mode group alone. */
  readonly group?: NonNullable<ClusterView['group']>
  /** Words about a cluster that is only watched. */
  readonly watched?: {
    /** What is to be done before the cluster can be managed: why, and indented what to type. */
    readonly missing: readonly string[]
    /** What keeps nobody from managing it, and is worth knowing. */
    readonly notes: readonly string[]
    /** How each server is spoken to. */
    readonly servers: readonly string[]
  }
  /** Null while there is none: before the first primary, or after it was lost. */
  readonly record: ClusterRecord | null
}

const analysisSchema = Type.Object({
  code: Type.String({ description: 'DeadPrimary, ReplicaLagging …' }),
  severity: Type.Enum(['info', 'warning', 'critical']),
  instance: nullable(Type.String()),
  sentence: Type.String(),
  expected: Type.Optional(Type.Literal(true, { description: 'The instance is in downtime.' })),
})

const intentSchema = Type.Object({
  kind: Type.Enum(['fetch', 'switchover']),
  by: Type.String({ description: 'Run of the manager that put it there.' }),
  candidate: Type.String(),
  request: Type.Optional(Type.String()),
  deadlineWallMs: Type.Optional(Type.Number()),
  reason: Type.Optional(Type.String()),
})

const recordSchema = Type.Object({
  version: Type.Integer(),
  cluster: Type.String(),
  epoch: Type.Integer(),
  revision: Type.Integer(),
  primary: Type.String({ description: 'Members are named <instance>@<volume>.' }),
  syncSet: Type.Array(Type.String()),
  leaving: Type.Array(Type.String()),
  acks: Type.Integer(),
  acksWanted: Type.Integer(),
  intent: nullable(intentSchema),
  doubted: Type.Optional(
    Type.Object(
      { since: Type.Integer(), members: Type.Array(Type.String()) },
      {
        description:
          'Members that may hold other rows than the primary that a person chose in that epoch, unless they are copies made since.',
      },
    ),
  ),
  group: Type.Optional(
    Type.Object(
      {
        name: Type.String({ description: 'group_replication_group_name.' }),
        forming: Type.Boolean({ description: 'The primary is to form the group, alone; nobody joins before it has.' }),
        view: Type.Optional(
          Type.String({ description: 'VIEW_ID by which the group was followed last to another primary.' }),
        ),
        parted: Type.Optional(
          Type.Literal(true, { description: 'Two groups of this name went on apart, and a person chose among them.' }),
        ),
      },
      { description: 'In mode group alone.' },
    ),
  ),
})

export const explainViewSchema = Type.Unsafe<ExplainView>(
  Type.Object(
    {
      sentence: Type.String(),
      blocked: Type.Boolean(),
      ...wayOutField,
      ...writableUnknownField,
      place: Type.Optional(
        Type.Array(Type.String(), {
          description: 'What Kubernetes says of pods that are not ready. Absent for nothing.',
        }),
      ),
      agents: Type.Optional(
        Type.Array(Type.String(), {
          description: 'What agents are at, or what stands in their way. Absent where all are done.',
        }),
      ),
      reasons: Type.Array(Type.String()),
      ...routerField,
      analyses: Type.Array(analysisSchema),
      group: Type.Optional(groupSchema),
      watched: Type.Optional(
        Type.Object(
          {
            missing: Type.Array(Type.String(), {
              description: 'What is to be done before the cluster can be managed: why, and indented what to type.',
            }),
            notes: Type.Array(Type.String(), {
              description: 'What keeps nobody from managing it, and is worth knowing.',
            }),
            servers: Type.Array(Type.String(), { description: 'How each server is spoken to.' }),
          },
          { description: 'Of a cluster that is only watched.' },
        ),
      ),
      record: nullable(recordSchema),
    },
    { $id: 'ExplainView', description: 'Why a cluster is as it is.' },
  ),
)
