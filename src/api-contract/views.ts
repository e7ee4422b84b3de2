import { Type, type Static, type TSchema } from 'typebox'
import { conditions } from '#failover/protocol/condition.ts'
import { modes } from '#failover/protocol/mode-name.ts'

/**
 * What the API shows of a cluster. Each schema is the TypeScript type, the shape every answer is written by, and an
 * entry of the OpenAPI document.
 */

/** Everything in it readonly, at any depth. */
type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T

/** The schema, or null where the value is not known or there is none. */
export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

/** A schema that is kept under its name in the OpenAPI document. */
export function refTo<Schema extends TSchema>(schema: Schema) {
  return Type.Unsafe<Static<Schema>>({ $ref: `${(schema as { $id?: string }).$id}#` })
}

const downtimeSchema = Type.Object(
  {
    untilWallMs: Type.Number({ description: 'Wall time in milliseconds at which it ends by itself.' }),
    reason: Type.String(),
    owner: Type.String({ description: 'Who said so; may be empty.' }),
  },
  { description: 'Its trouble is known and expected; absent otherwise.' },
)

const memberSchema = Type.Object(
  {
    state: nullable(
      Type.Enum(['ONLINE', 'RECOVERING', 'OFFLINE', 'ERROR', 'UNREACHABLE', 'MISSING'], {
        description:
          'MEMBER_STATE in the view of the majority; MISSING: not in that view. Without a majority as its own server says; null: nothing is known.',
      }),
    ),
    role: nullable(
      Type.Enum(['PRIMARY', 'SECONDARY'], { description: 'By the view of the majority; null unless it is ONLINE.' }),
    ),
    certifying: nullable(Type.Integer({ description: 'Transactions that wait there to be certified.' })),
    applying: nullable(Type.Integer({ description: 'Transactions of others that wait there to be applied.' })),
    lacks: nullable(
      Type.Integer({ description: 'While it recovers: transactions of the primary that it has not executed.' }),
    ),
  },
  { description: 'Its membership of the replication group. In mode group alone, once there is a record.' },
)

export const groupSchema = Type.Object(
  {
    name: Type.String({ description: 'group_replication_group_name.' }),
    condition: Type.Enum(['online', 'partial', 'noQuorum', 'outage', 'uncertain', 'splitBrain'], {
      description:
        'online: a majority agrees, and each member is ONLINE. partial: somebody is missing. noQuorum: members ' +
        'are there, and none hears a majority. outage: everybody answers, and nobody is in the group. uncertain: ' +
        'nobody who answers is in the group, and somebody does not answer. splitBrain: two groups.',
    }),
    viewId: nullable(Type.String({ description: 'VIEW_ID of the majority; null without a majority.' })),
    primary: nullable(Type.String({ description: 'Instance that the majority calls primary.' })),
    online: Type.Integer({ description: 'Members that are ONLINE in that view.' }),
    expected: Type.Integer({ description: 'Members that the record names.' }),
    mayBeLost: Type.Integer({
      description: 'So many that are ONLINE may be lost at once, and the rest is still a majority.',
    }),
  },
  { description: 'The replication group. In mode group alone, once there is a record.' },
)

export const clusterProblemSchema = Type.Object(
  {
    code: Type.String({
      description:
        'As in explain: DeadPrimary, ReplicaLagging …; beside those PodNotReady, NeverHeard, Seeding, Converging and CertificateOld.',
    }),
    instance: nullable(Type.String({ description: 'Null: the whole cluster.' })),
    sentence: Type.String({ description: 'For people; figures in it change.' }),
    since: Type.String({
      format: 'date-time',
      description: 'When this manager saw that first, in UTC: the same in every later answer, until that ends.',
    }),
  },
  {
    $id: 'ClusterProblem',
    description: 'One thing that is wrong. code, instance and since name the same one in each answer.',
  },
)

export const instanceRowSchema = Type.Object(
  {
    name: Type.String(),
    host: Type.String(),
    port: Type.Integer(),
    role: Type.Enum(['primary', 'replica', 'none'], {
      description: 'none: the record does not name it, or it has no assignment.',
    }),
    process: Type.Enum(['absent', 'starting', 'running', 'stopped', 'exiting', 'dead', 'unknown'], {
      description: 'The operating system’s view of mysqld; unknown: its agent was never heard.',
    }),
    reachable: Type.Boolean({ description: 'Its agent is heard in time.' }),
    inSyncSet: Type.Boolean({
      description: 'Its acknowledgement counts. In mode group: the record admits it to the group.',
    }),
    acknowledging: Type.Boolean({
      description:
        'It follows and acknowledges what it receives, as it was last seen. In mode group: it is heard and ONLINE.',
    }),
    lagSeconds: nullable(Type.Number({ description: 'Null when unknown, and when idle without a heartbeat.' })),
    backlog: nullable(Type.Integer({ description: 'Transactions received and not yet applied.' })),
    behind: Type.Boolean({
      description:
        'It follows, and is further behind than maxLagSeconds allows; its acknowledgement may count all the same.',
    }),
    readOnly: nullable(Type.Boolean()),
    offline: nullable(Type.Boolean({ description: 'offline_mode: clients are refused.' })),
    fenced: Type.Boolean({ description: 'By a person.' }),
    downtime: Type.Optional(downtimeSchema),
    group: Type.Optional(memberSchema),
    version: nullable(Type.String({ description: 'Of MySQL.' })),
    executed: nullable(Type.String({ description: 'gtid_executed.' })),
    settingsRefused: Type.Optional(
      Type.String({ description: 'Settings that its mysqld refuses, in mysqld’s own words; absent otherwise.' }),
    ),
    backup: Type.Optional(
      Type.Object(
        {
          name: Type.String(),
          stage: Type.Enum(['copies', 'sends', 'done', 'failed'], { type: 'string' }),
          rawBytes: Type.Integer({ description: 'Of the data, as far as they are in the store.' }),
          storedBytes: Type.Integer({ description: 'What lies in the store of that.' }),
          sentence: Type.String({ description: 'Why it failed; empty otherwise.' }),
          gtids: Type.Optional(
            Type.String({ description: 'What it holds once it is whole; of a long set how many transactions.' }),
          ),
          startedAtMs: Type.Optional(Type.Number({ description: 'When it was begun.' })),
          tookMs: Type.Optional(Type.Number({ description: 'Once it is whole: until all was in the store.' })),
        },
        { description: 'The newest base backup that was begun here since the agent started; absent for none.' },
      ),
    ),
    rehearsal: Type.Optional(
      Type.Object(
        {
          name: Type.String(),
          stage: Type.Enum(['restores', 'checks', 'done', 'failed'], { type: 'string' }),
          sentence: Type.String({ description: 'How far that is, what came of it, or why it failed.' }),
        },
        {
          description:
            'The newest rehearsal that was begun here since the agent started, or failed before; absent for none.',
        },
      ),
    ),
    restored: Type.Optional(
      Type.String({
        description: 'The backup that its data came out of, and what was replayed behind that; absent for none.',
      }),
    ),
    trouble: Type.Optional(
      Type.String({ description: 'What Kubernetes says of its pod, which is not ready; absent for nothing.' }),
    ),
    watch: Type.Optional(
      Type.Object(
        {
          reach: Type.Enum(
            ['unknown', 'answers', 'full', 'lockedOut', 'refused', 'silent', 'unresolved', 'noMysql', 'unasked'],
            {
              description:
                'How the newest look went. full: too many connections. lockedOut: mysqld is there and refuses the account. ' +
                'refused: nobody listens. silent: no answer in time. ' +
                'unasked: Regent could not ask, as where a certificate will not do.',
            },
          ),
          words: Type.String({ description: 'The same for people, with what the server or the system said.' }),
          dialect: nullable(
            Type.String({ description: 'As which version the server is spoken to; null: never seen.' }),
          ),
        },
        { description: 'Of a cluster that is only watched: there is no agent, and reachable is about its server.' },
      ),
    ),
    problems: Type.Array(
      Type.Object({
        code: Type.String({ description: 'As in the problems of the cluster.' }),
        sentence: Type.String({ description: 'For people; figures in the sentence change.' }),
      }),
      { description: 'What is wrong with this instance; empty for nothing.' },
    ),
  },
  { $id: 'InstanceRow', description: 'One instance as its agent last reported it.' },
)

export const writableUnknownField = {
  writableUnknown: Type.Optional(
    Type.Object(
      {
        likely: Type.Boolean({ description: 'It took writes when it was heard last, and others hear its server.' }),
        sentence: Type.String({ description: 'What was known last, of when, and what others see of it.' }),
      },
      { description: 'Where nobody knows whether the primary takes writes. Absent otherwise.' },
    ),
  ),
}

const clusterFields = {
  name: Type.String(),
  mode: Type.Enum([...modes]),
  durability: Type.Enum(['strict', 'available']),
  epoch: Type.Integer({ description: 'Grows with every change of primary; 0 before the first.' }),
  revision: Type.Integer({ description: 'Of the record.' }),
  primary: nullable(Type.String({ description: 'Instance named by the record.' })),
  writable: nullable(
    Type.Boolean({ description: 'The primary takes writes now; null: that is not known, see writableUnknown.' }),
  ),
  ...writableUnknownField,
  syncSet: Type.Array(Type.String()),
  acks: Type.Integer({ description: 'Acknowledgements a write needs.' }),
  acksWanted: Type.Integer(),
  condition: nullable(
    Type.Enum([...conditions], {
      description:
        'What the cluster is in, by name: what Regent does follows from that. docs/why/conditions.md tells of each. Null for a manager that has decided nothing.',
    }),
  ),
  sentence: Type.String({ description: 'What Regent does, or why it does nothing. Figures in the sentence change.' }),
  news: Type.String({ description: 'The sentence without its figures: where this is as before, nothing is new.' }),
  blocked: Type.Boolean({ description: 'Something stands still that should not.' }),
  paused: Type.Boolean({ description: 'Nothing is decided automatically.' }),
  whole: Type.Boolean({
    description:
      'Nothing is left to do: as many instances as wanted, each of them leads or counts, is up and not far behind, and writes are taken.',
  }),
  problems: Type.Array(refTo(clusterProblemSchema), { description: 'All that is wrong, the worst first.' }),
  watched: Type.Optional(
    Type.Literal(true, {
      description: 'It was adopted and is only watched: nothing is changed there, and operations are refused.',
    }),
  ),
  group: Type.Optional(groupSchema),
  instances: Type.Array(refTo(instanceRowSchema)),
}

export const clusterViewSchema = Type.Object(clusterFields, {
  $id: 'ClusterView',
  description: 'One cluster at a glance.',
})

/** A server and those that replicate from it. */
export interface TreeNode {
  readonly name: string
  readonly replicas: readonly TreeNode[]
}

export const treeNodeSchema = Type.Unsafe<TreeNode>(
  Type.Object(
    { name: Type.String(), replicas: Type.Array(Type.Unsafe<TreeNode>({ $ref: 'TreeNode#' })) },
    { $id: 'TreeNode', description: 'A server and those that replicate from it.' },
  ),
)

export const wayOutField = {
  wayOut: Type.Optional(
    Type.String({
      description:
        'How it ends that the cluster takes no writes: one command, or what is waited for. Absent where it does.',
    }),
  ),
}

export const routerField = {
  router: Type.Optional(
    Type.Object(
      {
        host: Type.String({ description: 'Address of the router, or its name in the cluster of Kubernetes.' }),
        writePort: Type.Integer({ description: 'Leads to the primary.' }),
        readPort: Type.Integer({ description: 'Leads to replicas.' }),
        sentence: Type.String({ description: 'Where the router leads, or on Kubernetes how its pods are.' }),
      },
      { description: 'The one address in front of the cluster; absent where there is no router.' },
    ),
  ),
} as const

export const topologyViewSchema = Type.Object(
  {
    ...clusterFields,
    ...wayOutField,
    ...routerField,
    tree: Type.Array(Type.Unsafe<TreeNode>({ $ref: 'TreeNode#' }), {
      description: 'Roots: servers that follow none of the cluster.',
    }),
  },
  { $id: 'TopologyView', description: 'A cluster and who replicates from whom.' },
)

export type ClusterProblem = Frozen<Static<typeof clusterProblemSchema>>

/** A problem is the same by its code and instance, whatever figures it has. */
export function keyOfProblem({ code, instance }: Pick<ClusterProblem, 'code' | 'instance'>): string {
  return `${code} ${instance ?? ''}`
}
export type InstanceRow = Frozen<Static<typeof instanceRowSchema>>
export type ClusterView = Frozen<Static<typeof clusterViewSchema>>
export type RouterView = NonNullable<TopologyView['router']>
export type TopologyView = Frozen<Static<typeof topologyViewSchema>>
