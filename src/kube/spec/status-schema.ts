import { Type, type Static } from 'typebox'

/**
 * What Regent says of a cluster: `kubectl get` and `describe` tell the story from it. Nothing is decided from it; the
 * record is an object of its own.
 */
const text = (description: string) => Type.Optional(Type.String({ description }))
const moment = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))
/**
 * A field that managers of the version before write, and nobody else. While an upgrade rolls one of them may lead, and
 * the API server refuses a status as a whole for one field that the definition lacks.
 */
const deprecatedText = (description: string) =>
  Type.Optional(Type.Unsafe<never>({ type: 'string', description: `Deprecated: ${description}` }))

export const conditionTypes = ['Ready', 'Available', 'Progressing', 'Degraded', 'Paused'] as const

export const conditionSchema = (types: readonly string[]) =>
  Type.Object({
    type: Type.String({ description: `One of ${types.join(', ')}.` }),
    status: Type.Unsafe<'True' | 'False' | 'Unknown'>({
      type: 'string',
      enum: ['True', 'False', 'Unknown'],
      description: 'Whether it is so.',
    }),
    reason: Type.String({ description: 'Why, in one word for programs.' }),
    message: Type.String({ description: 'Why, in a sentence.' }),
    lastTransitionTime: Type.String({ format: 'date-time', description: 'When the status last changed.' }),
    observedGeneration: Type.Optional(Type.Integer({ description: 'Of which generation of the spec this is said.' })),
  })

const instance = Type.Object({
  name: Type.String({ description: 'The pod’s name.' }),
  role: Type.Unsafe<'primary' | 'replica' | 'none'>({
    type: 'string',
    enum: ['primary', 'replica', 'none'],
    description: 'What it is assigned to be.',
  }),
  node: text('Where it runs.'),
  version: text('Of mysqld.'),
  executed: text('The GTIDs it has executed.'),
  lagSeconds: Type.Optional(
    Type.Union([Type.Number(), Type.Null()], {
      description: 'How far it is behind the primary; null where that is not known.',
    }),
  ),
  inSyncSet: Type.Boolean({
    description: 'Whether its acknowledgements count. In mode group: whether the record admits it to the group.',
  }),
  member: text('MEMBER_STATE in the view of the majority, or MISSING. In mode group alone.'),
  problems: Type.Optional(
    Type.Array(
      Type.Object({
        code: Type.String({ description: 'What is wrong, in one word for programs.' }),
        sentence: Type.String({ description: 'What is wrong, in a sentence.' }),
      }),
      { description: 'What is wrong with it; absent for nothing.' },
    ),
  ),
  reason: deprecatedText('managers of the version before say here what problems says.'),
})

const group = Type.Object(
  {
    summary: Type.String({ description: 'Members that are ONLINE, and how many may be lost; or why there are none.' }),
    name: Type.String({ description: 'group_replication_group_name.' }),
    condition: Type.String({ description: 'One of online, partial, noQuorum, outage, uncertain, splitBrain.' }),
    viewId: text('VIEW_ID of the majority.'),
    online: Type.Integer({ description: 'Members that are ONLINE in that view.' }),
    expected: Type.Integer({ description: 'Members that the record names.' }),
    mayBeLost: Type.Integer({ description: 'So many may be lost at once, and the rest is still a majority.' }),
  },
  { description: 'The replication group, as the majority sees it. In mode group alone.' },
)

export const mysqlClusterStatusSchema = Type.Object(
  {
    observedGeneration: Type.Optional(
      Type.Integer({ description: 'The generation of the spec that all of this is about.' }),
    ),
    observedAt: Type.Optional(
      Type.String({
        format: 'date-time',
        description:
          'When a manager last said all of this. Renewed about once a minute: what is older than two minutes is nobody’s word any more.',
      }),
    ),
    conditions: Type.Optional(
      Type.Array(conditionSchema(conditionTypes), {
        description: 'Ready, Available, Progressing, Degraded, Paused.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      }),
    ),
    primary: text('The instance that leads.'),
    epoch: Type.Optional(Type.Integer({ description: 'Grows with every change of the primary.' })),
    revision: Type.Optional(Type.Integer({ description: 'Grows with every change of the record.' })),
    syncSet: Type.Optional(Type.Array(Type.String(), { description: 'Replicas whose acknowledgements count.' })),
    acks: Type.Optional(Type.Integer({ description: 'Acknowledgements that a write waits for.' })),
    clusterCondition: text('What the cluster is in, by one word: what Regent does follows from that.'),
    sentence: text('What Regent does or declines to do, and why.'),
    group: Type.Optional(group),
    instances: Type.Optional(
      Type.Array(instance, {
        description: 'Each instance as it is.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      }),
    ),
    /** For the scale subresource. */
    replicas: Type.Optional(Type.Integer({ description: 'Instances that exist.' })),
    ready: Type.Optional(Type.Integer({ description: 'Instances that take part.' })),
    selector: text('Of the instances’ pods, for autoscalers.'),
    backup: Type.Optional(
      Type.Object(
        {
          whole: Type.Integer({ description: 'Backups that are whole in the store.' }),
          newest: text('The newest of them, by its name.'),
          newestAt: moment('When its data were copied.'),
          verified: text('The newest that was restored once, by its name.'),
          verifiedAt: moment('When that was.'),
          message: text('A run that is under way, or why the store cannot be looked at.'),
        },
        { description: 'What lies in the store of backups. Only with spec.backup, once somebody has looked.' },
      ),
    ),
    binding: Type.Optional(
      Type.Object(
        { name: Type.String({ description: 'The Secret with everything a client needs (Service Binding).' }) },
        { description: 'How applications are bound.' },
      ),
    ),
  },
  { description: 'What is.' },
)

export type MySQLClusterStatus = Static<typeof mysqlClusterStatusSchema>
