import { Type, type Static, type TProperties } from 'typebox'
import { kubeHooksSchema } from '#failover/protocol/hook.ts'
import { acceptLossUpToSchema, clusterSpecSchema } from '#failover/protocol/spec.ts'
import { routerSettingsSchema } from '#failover/protocol/router-settings-schema.ts'
import { backupSchema, bootstrapSchema } from './backup-schema.ts'
import { routerSchema } from './router-schema.ts'
import { asKubernetesHasIt, closed, ipFamilyPolicy, listAsKubernetesHasIt, oneOf, texts } from './schema-words.ts'

/**
 * The spec of a `MySQLCluster`, once: this schema is the TypeScript type, the schema of the custom resource definition,
 * the webhook's check and `docs/reference/kubernetes-reference.md`. What durability and failover mean is taken from the
 * core's own spec (`failover/protocol/spec.ts`).
 */
const core = clusterSpecSchema.properties

/** The forms of `resource.Quantity` that sizes of storage come in. */
const quantityPattern = '^[0-9]+(\\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei)?$'

const storage = closed(
  {
    size: Type.String({
      pattern: quantityPattern,
      maxLength: 32,
      description: 'Size of each instance’s volume, such as 20Gi. It can grow while the cluster runs, never shrink.',
    }),
    storageClassName: Type.Optional(
      Type.String({
        maxLength: 253,
        description:
          'The StorageClass of the volumes; the cluster’s default class unless given. Fixed once the cluster exists.',
      }),
    ),
  },
  {
    description: 'The volume of each instance: data, binary logs and what the agent remembers.',
    rules: [
      { rule: 'quantity(self.size).isGreaterThan(quantity("0"))', message: 'a volume of nothing holds no database' },
      {
        rule: 'quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0',
        message: 'a volume cannot shrink; make a new cluster',
      },
      {
        rule:
          'has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || ' +
          'self.storageClassName == oldSelf.storageClassName)',
        message: 'the storage class of existing volumes cannot change',
      },
    ],
  },
)

const scheduling = closed(
  {
    affinity: Type.Optional(
      asKubernetesHasIt(
        'A pod’s affinity. Unless it says something of pods, instances prefer nodes without another instance of the same cluster.',
      ),
    ),
    topologySpreadConstraints: Type.Optional(
      listAsKubernetesHasIt('A pod’s topology spread constraints, such as one per zone.'),
    ),
    nodeSelector: Type.Optional(texts('Labels that a node must have.')),
    tolerations: Type.Optional(listAsKubernetesHasIt('A pod’s tolerations.')),
    priorityClassName: Type.Optional(
      Type.String({
        maxLength: 253,
        description: 'A PriorityClass: a database should be evicted after what can be made again.',
      }),
    ),
  },
  { default: {}, description: 'Where instances may run.' },
)

const service = <More extends TProperties>(what: string, more: More) =>
  closed(
    {
      type: oneOf(['ClusterIP', 'NodePort', 'LoadBalancer'], 'ClusterIP', `How ${what} can be reached.`),
      annotations: texts('Annotations of the Service, such as those of a cloud’s load balancer.', 4_096),
      loadBalancerClass: Type.Optional(
        Type.String({ maxLength: 253, description: 'Which load balancer makes it, where the type is LoadBalancer.' }),
      ),
      loadBalancerSourceRanges: Type.Optional(
        Type.Array(Type.String({ maxLength: 64 }), {
          maxItems: 64,
          description: 'Whom that load balancer lets in, as CIDR.',
        }),
      ),
      port: Type.Integer({ default: 3306, minimum: 1, maximum: 65_535, description: 'The port clients use.' }),
      ...more,
    },
    { default: {}, description: `The Service of ${what}.` },
  )

const services = closed(
  {
    primary: service('the primary', {}),
    replicas: service('the replicas', {
      ipFamilyPolicy: ipFamilyPolicy('as the cluster says unless given'),
      reads: Type.Optional(
        closed(routerSettingsSchema.properties.reads.properties, {
          description: 'Which replicas the Service leads to; as spec.router.reads says unless given.',
        }),
      ),
    }),
    routing: oneOf(
      ['endpoints', 'labels'],
      'endpoints',
      'endpoints: Regent writes the primary’s EndpointSlice itself, one write per failover. labels: ' +
        'the Service selects by role label, for tools that need a selector; a failover then takes about ' +
        'a second longer.',
    ),
  },
  { default: {}, description: 'How clients reach the instances.' },
)

const placement = closed(
  {
    preferred: Type.Record(Type.String(), Type.Integer({ minimum: -1000, maximum: 1000 }), {
      default: {},
      description: 'Weights by instance name: among equals the highest is chosen as primary. Others have 0.',
    }),
    never: Type.Array(Type.String({ maxLength: 63 }), {
      default: [],
      maxItems: 16,
      description: 'Instances that never become primary.',
    }),
    lastOrdinal: Type.Boolean({
      default: false,
      description: 'Prefer the instance with the highest ordinal, as MHA-style operators do.',
    }),
  },
  {
    default: {},
    description: 'Which instance leads when several could.',
    // The API server tries a rule on the default as it is written, nothing filled in.
    rules: [
      {
        rule: '!has(self.lastOrdinal) || !self.lastOrdinal || !has(self.preferred) || self.preferred.size() == 0',
        message: 'lastOrdinal and preferred contradict each other; choose one',
      },
    ],
  },
)

const pod = closed(
  {
    labels: texts('Labels added to each pod.'),
    annotations: texts('Annotations added to each pod.', 4_096),
    env: Type.Optional(listAsKubernetesHasIt('Environment variables added to the mysql container.')),
    containers: Type.Optional(listAsKubernetesHasIt('Containers that run beside mysqld, such as an exporter.')),
    volumes: Type.Optional(listAsKubernetesHasIt('Volumes for those containers.')),
    imagePullSecrets: Type.Optional(listAsKubernetesHasIt('Secrets with which images are pulled.')),
    terminationGracePeriodSeconds: Type.Integer({
      default: 120,
      minimum: 10,
      maximum: 3_600,
      description: 'Time for a switchover before an instance is ended.',
    }),
  },
  { default: {}, description: 'What is added to each pod.' },
)

const json = (variable: string, what: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 100_000, description: `${variable}: ${what}, as JSON.` }))
const ofSecret = closed(
  {
    name: Type.String({ minLength: 1, maxLength: 253, description: 'Name of the Secret.' }),
    key: Type.String({
      default: 'token',
      pattern: '^[A-Za-z0-9._-]+$',
      maxLength: 253,
      description: 'Key of the token in the Secret. A token has at least 16 characters.',
    }),
  },
  { description: 'Every caller sends the token of this Secret. Not Regent’s own Secret.' },
)
const lifecyclePort = (what: string, port: number) =>
  Type.Integer({ default: port, minimum: 1_024, maximum: 65_535, description: `Port of ${what}.` })

const lifecycle = closed(
  {
    open: Type.Optional(
      Type.Boolean({
        description:
          'true asks no token of anybody, for callers made for KubeBlocks: whoever reaches the ports may run every action, accountProvision among them.',
      }),
    ),
    tokenSecret: Type.Optional(ofSecret),
    port: lifecyclePort('actions, over HTTP', 3501),
    streamingPort: lifecyclePort('streams, raw TCP', 3502),
    actions: json('KB_AGENT_ACTION', 'scripts that are called beside, or in place of, the built-in actions'),
    probes: json('KB_AGENT_PROBE', 'actions that run by themselves and report Events, built-in ones among them'),
    streaming: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4_096,
        description: 'KB_AGENT_STREAMING: names among actions that may be streamed, separated by commas.',
      }),
    ),
    configMap: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        description:
          'A ConfigMap whose keys KB_AGENT_ACTION, KB_AGENT_PROBE and KB_AGENT_STREAMING stand for ' +
          'actions, probes and streaming. It is read when a pod starts.',
      }),
    ),
  },
  {
    description:
      'Agents serve lifecycle actions and probes as KubeBlocks’ agent does, on ports of their own ' +
      'without TLS. Not served unless given. A change restarts the instances one by one.',
    rules: [
      {
        rule: '(has(self.open) && self.open) != has(self.tokenSecret)',
        message: 'who may call is not said; give either tokenSecret, or open with true',
      },
      { rule: 'self.port != self.streamingPort', message: 'port and streamingPort are the same; each needs its own' },
      {
        rule: '!has(self.configMap) || !(has(self.actions) || has(self.probes) || has(self.streaming))',
        message: 'configMap stands for actions, probes and streaming; give either configMap or these',
      },
    ],
  },
)

export const mysqlClusterSpecSchema = closed(
  {
    image: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 512,
        description:
          'An image with mysqld ≥ 8.0.26 and sh. The chart’s default is written here when the cluster is ' +
          'made, so that an upgrade of the chart restarts no mysqld.',
      }),
    ),
    imagePullPolicy: Type.Optional(
      Type.Unsafe<'Always' | 'IfNotPresent' | 'Never'>({
        type: 'string',
        enum: ['Always', 'IfNotPresent', 'Never'],
        description: 'When the image is pulled.',
      }),
    ),
    instances: core.instances,
    mode: core.mode,
    durability: core.durability,
    acks: core.acks,
    storage,
    resources: Type.Optional(
      asKubernetesHasIt(
        'Requests and limits of the mysql container. It asks for 100m of cpu and 512Mi of memory where neither a request nor a limit says otherwise.',
      ),
    ),
    agentResources: Type.Optional(
      asKubernetesHasIt('Requests and limits of the agent’s container. A CPU limit slows failover down.'),
    ),
    allowUnclassified: Type.Array(Type.String({ maxLength: 64 }), {
      default: [],
      maxItems: 32,
      description:
        'Names of server settings that Regent does not know, and that may be set all the same: nobody can say whether safety rests on them.',
    }),
    settings: texts(
      'Server settings, as name: value. Those that safety rests on are Regent’s, and refused with the reason.',
      4_096,
    ),
    scheduling,
    services,
    primary: placement,
    update: closed(
      {
        strategy: oneOf(
          ['rolling', 'manual'],
          'rolling',
          'rolling: changes of image, settings and resources restart the replicas one by one, then the ' +
            'primary after a switchover. manual: an instance takes them when its pod is deleted.',
        ),
      },
      { default: {}, description: 'How a change reaches the instances.' },
    ),
    failover: closed(
      {
        automatic: Type.Boolean({ default: true, description: 'Fail over without a person.' }),
        budget: Type.Optional(
          closed(
            {
              failovers: core.failover.properties.budget.properties.failovers,
              windowSeconds: Type.Integer({
                default: 300,
                minimum: 1,
                maximum: 86_400,
                description: 'After this time one automatic failover that was used comes back.',
              }),
            },
            {
              description:
                'How many automatic failovers there may be. Three in five minutes where neither this nor windowSeconds is given.',
            },
          ),
        ),
        acceptLoss: core.failover.properties.acceptLoss,
        backAfterSeconds: core.failover.properties.backAfterSeconds,
        acceptLossUpTo: Type.Optional(
          closed(acceptLossUpToSchema.properties, { description: 'What acceptLoss: upTo accepts.' }),
        ),
        windowSeconds: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 86_400,
            description:
              'The older word, without effect where budget is given: no second automatic failover within this time after one; 0 = any number of them.',
          }),
        ),
      },
      { default: {}, description: 'What happens when the primary dies.' },
    ),
    switchover: closed(core.switchover.properties, {
      default: {},
      description: 'How patient a planned change of the primary is.',
    }),
    group: closed(core.group.properties, { default: {}, description: 'What only a cluster in mode group has.' }),
    reseed: core.reseed,
    cloneAboveTransactions: core.cloneAboveTransactions,
    maxLagSeconds: core.maxLagSeconds,
    lowSpaceBytes: core.lowSpaceBytes,
    keepBinlogsSeconds: core.keepBinlogsSeconds,
    heldBinlogsBytes: core.heldBinlogsBytes,
    archiveBytes: core.archiveBytes,
    paused: Type.Boolean({
      default: false,
      description: 'Regent watches and tells, and changes nothing: for maintenance by hand.',
    }),
    volumes: closed(
      {
        whenDeleted: oneOf(['Retain', 'Delete'], 'Retain', 'What becomes of the volumes when the cluster is deleted.'),
        whenScaled: oneOf(
          ['Retain', 'Delete'],
          'Retain',
          'What becomes of the volume of an instance that is scaled away.',
        ),
      },
      { default: {}, description: 'What becomes of volumes that are no longer used.' },
    ),
    tls: closed(
      {
        secretName: Type.Optional(
          Type.String({
            maxLength: 253,
            description:
              'A Secret with tls.crt and tls.key, which clients are shown, and ca.crt where there is one; ' +
              'mysqld’s own certificate unless given. A renewed one is taken up without a restart.',
          }),
        ),
        required: Type.Boolean({ default: false, description: 'Refuse clients that do not use TLS.' }),
      },
      { default: {}, description: 'Encryption of client connections. A change restarts the instances one by one.' },
    ),
    networkPolicy: Type.Boolean({
      default: false,
      description: 'Make a NetworkPolicy: clients reach 3306 only, and only Regent and the instances reach the rest.',
    }),
    podMonitor: Type.Boolean({ default: false, description: 'Make a PodMonitor for the agents’ metrics.' }),
    lifecycle: Type.Optional(lifecycle),
    router: Type.Optional(routerSchema),
    hooks: Type.Optional(kubeHooksSchema),
    backup: Type.Optional(backupSchema),
    bootstrap: Type.Optional(bootstrapSchema),
    pod,
  },
  {
    description: 'What is wanted.',
    rules: [
      { rule: 'self.mode == oldSelf.mode', message: 'mode cannot change; make a new cluster' },
      {
        rule: 'self.services.routing == oldSelf.services.routing',
        message: 'services.routing cannot change: endpoints of the other kind would stay behind; make a new cluster',
      },
      {
        rule: '!has(self.acks) || self.acks < self.instances',
        message: 'acks counts replicas, so it must be less than instances',
      },
    ],
  },
)

export type MySQLClusterSpec = Static<typeof mysqlClusterSpecSchema>
