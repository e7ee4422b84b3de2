import { Type, type Static } from 'typebox'
import { asKubernetesHasIt, closed, ipFamilyPolicy, listAsKubernetesHasIt, oneOf, texts } from '../spec/schema-words.ts'
import { conditionSchema } from '../spec/status-schema.ts'

/**
 * The spec and the status of an `App`. As `src/kube/spec/spec-schema.ts` they are the TypeScript types, the definition,
 * the webhook's check and the reference page.
 */
const portNumber = (description: string) => Type.Integer({ minimum: 1, maximum: 65_535, description })

const port = closed({
  name: Type.Optional(
    Type.String({
      pattern: '^[a-z][a-z0-9]*(-[a-z0-9]+)*$',
      maxLength: 15,
      description: 'Name of the port; port-<number> unless given, and the protocol where that is not TCP.',
    }),
  ),
  port: portNumber('The port of the Service, which clients use.'),
  targetPort: Type.Optional(portNumber('The port where the container listens; the same unless given.')),
  protocol: oneOf(['TCP', 'UDP', 'SCTP'], 'TCP', 'Protocol of the port.'),
})

const probe = (what: string) => Type.Optional(asKubernetesHasIt(`A container’s ${what}.`))

export const longestAppName = 52

export const appSpecSchema = closed(
  {
    replicas: Type.Integer({ default: 1, minimum: 0, maximum: 1_000, description: 'So many pods run.' }),
    image: Type.Optional(
      Type.String({ minLength: 1, maxLength: 512, description: 'The image that each pod runs. It must be given.' }),
    ),
    imagePullPolicy: oneOf(['Always', 'IfNotPresent', 'Never'], 'IfNotPresent', 'When the image is pulled.'),
    imagePullSecrets: Type.Optional(listAsKubernetesHasIt('Secrets with which the image is pulled.')),
    command: Type.Optional(
      Type.Array(Type.String(), { maxItems: 256, description: 'What is run instead of the image’s entry point.' }),
    ),
    args: Type.Optional(Type.Array(Type.String(), { maxItems: 256, description: 'Its arguments.' })),
    envs: Type.Optional(listAsKubernetesHasIt('Environment variables of the container, as a container’s env.')),
    resources: Type.Optional(asKubernetesHasIt('Requests and limits of the container.')),
    ports: Type.Array(port, {
      default: [],
      maxItems: 64,
      description: 'Ports of the Service and of the container. Without any there is no Service.',
    }),
    livenessProbe: probe('liveness probe'),
    readinessProbe: probe('readiness probe; a connection to the first TCP port unless given'),
    startupProbe: probe('startup probe'),
    volumes: Type.Optional(listAsKubernetesHasIt('A pod’s volumes.')),
    volumeMounts: Type.Optional(listAsKubernetesHasIt('Where the container sees the volumes.')),
    securityContext: Type.Optional(asKubernetesHasIt('A container’s security context.')),
    podSecurityContext: Type.Optional(asKubernetesHasIt('A pod’s security context.')),
    serviceAccountName: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        description: 'The ServiceAccount of the pods. Without one the pods get no token of the API server.',
      }),
    ),
    spread: oneOf(
      ['nodes', 'zones', 'none'],
      'nodes',
      'Where the pods stand apart, as far as there is room: on different nodes, in different zones, or anywhere.',
    ),
    nodeSelector: Type.Optional(texts('Labels that a node must have.')),
    tolerations: Type.Optional(listAsKubernetesHasIt('A pod’s tolerations.')),
    terminationGracePeriodSeconds: Type.Integer({
      default: 30,
      minimum: 0,
      maximum: 86_400,
      description: 'So long a pod may take to end.',
    }),
    podLabels: texts('Labels added to each pod.'),
    podAnnotations: texts('Annotations added to each pod. A change replaces the pods, one after the other.', 4_096),
    service: closed(
      {
        name: Type.Optional(
          Type.String({
            pattern: '^[a-z]([a-z0-9-]*[a-z0-9])?$',
            maxLength: 63,
            description: 'Name of the Service; that of the App unless given. It cannot change.',
          }),
        ),
        type: oneOf(['ClusterIP', 'NodePort', 'LoadBalancer'], 'ClusterIP', 'How the Service can be reached.'),
        ipFamilyPolicy: ipFamilyPolicy('as the cluster says unless given'),
        annotations: texts('Annotations of the Service, such as those of a cloud’s load balancer.', 4_096),
      },
      { default: {}, description: 'The Service in front of the pods.' },
    ),
  },
  {
    description: 'What is wanted.',
    rules: [
      { rule: 'has(self.image)', message: 'image is not given: there is nothing to run' },
      {
        rule: 'self.ports.all(one, self.ports.filter(other, other.port == one.port && other.protocol == one.protocol).size() == 1)',
        message: 'two ports have the same number; each needs its own',
      },
      {
        rule: 'self.ports.all(one, !has(one.name) || self.ports.filter(other, has(other.name) && other.name == one.name).size() == 1)',
        message: 'two ports have the same name; each needs its own',
      },
    ],
  },
)

export type AppSpec = Static<typeof appSpecSchema>
export type AppPort = Static<typeof port>

export const appConditionTypes = ['Ready', 'InStep'] as const

const text = (description: string) => Type.Optional(Type.String({ description }))
const count = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }))

export const appStatusSchema = Type.Object(
  {
    observedGeneration: Type.Optional(Type.Integer({ description: 'The generation of the spec that this is about.' })),
    conditions: Type.Optional(
      Type.Array(conditionSchema(appConditionTypes), {
        description:
          'Ready: all pods are ready, and of the newest spec. InStep: Deployment and Service are as the spec says.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      }),
    ),
    sentence: text('How it is, in a sentence.'),
    replicas: count('Pods that there are.'),
    readyReplicas: count('Pods that are ready.'),
    updatedReplicas: count('Pods of the newest spec.'),
    selector: text('Of the pods, for autoscalers.'),
    address: text('Where clients connect: the Service’s name in the cluster.'),
    clusterIP: text('Address of the Service.'),
  },
  { description: 'What is.' },
)

export type AppStatus = Static<typeof appStatusSchema>
export type AppCondition = NonNullable<AppStatus['conditions']>[number]
