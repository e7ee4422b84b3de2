import { isIP } from 'node:net'
import { Type, type Static, type TSchema } from 'typebox'
import Format from 'typebox/format'
import { logLevels } from '#common/log/log-levels.ts'
import { parseListenAddress } from './listen-address.ts'

/**
 * The options of a manager on Kubernetes, once: this schema is the TypeScript type, the check, the flags, the
 * variables, the file's keys and their pages in docs/. What has neither a default nor `Type.Optional` must be said.
 */

Format.Set('ip', (text) => isIP(text) !== 0)
Format.Set('listen-address', (text) => parseListenAddress(text) !== undefined)

const concern = <Properties extends Record<string, TSchema>>(properties: Properties, description: string) =>
  Type.Object(properties, { additionalProperties: false, default: {}, description })

const oneOf = <Words extends readonly string[]>(
  words: readonly [...Words],
  initial: Words[number],
  description: string,
) => Type.Unsafe<Words[number]>({ type: 'string', enum: [...words], default: initial, description })

const port = (initial: number, what: string) =>
  Type.Integer({ default: initial, minimum: 1, maximum: 65_535, description: `Port of ${what}.` })
const host = (what: string, initial = '0.0.0.0') =>
  Type.String({
    default: initial,
    format: 'ip',
    allowed: 'an IP address',
    description: `Address that ${what} listens on; with :: every address, IPv6 too.`,
  })
const path = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 4_096, description }))
const name = { pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$', allowed: 'the name of a namespace' }
const image = { minLength: 1, maxLength: 512 }

/** What a manager can do without: each may be switched off where the cluster lacks it, or lacks the right to it. */
const capabilities = ['webhooks', 'networkPolicies', 'podMonitors', 'disruptionBudgets', 'events', 'podEvents'] as const

const kube = concern(
  {
    kubeconfig: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4_096,
        flag: 'kubeconfig',
        description:
          'A kubeconfig file; otherwise KUBECONFIG, the pod’s service account, ~/.kube/config, the first of them there is.',
      }),
    ),
    context: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        flag: 'context',
        description: 'The context of the kubeconfig; otherwise its current one.',
      }),
    ),
    qps: Type.Number({
      default: 50,
      minimum: 0,
      maximum: 10_000,
      description: 'Requests a second to the API server in the long run; 0 for no limit.',
    }),
    burst: Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 10_000,
      description: 'Requests that may go at once after a quiet time.',
    }),
  },
  'The way to the Kubernetes API.',
)

const watch = concern(
  {
    namespaces: Type.Array(Type.String(name), {
      default: [],
      maxItems: 64,
      uniqueItems: true,
      allowed: 'a list of up to 64 different namespaces',
      description: 'Namespaces whose clusters are managed; all where none is named.',
    }),
    resyncSeconds: Type.Integer({
      default: 36_000,
      minimum: 0,
      maximum: 604_800,
      description: 'How often every object is looked at again though nothing was heard of it; 0 for never.',
    }),
  },
  'What is watched.',
)

const reconcile = concern(
  {
    concurrent: Type.Integer({
      default: 4,
      minimum: 1,
      maximum: 64,
      description: 'Clusters whose objects are brought in step at the same time.',
    }),
    applyOnce: oneOf(
      ['off', 'on', 'force'],
      'off',
      'How far drift that others made is left alone. off: it is put right as soon as it is seen. on: ' +
        'only when the cluster’s resource changes. force: what somebody else changed or deleted is left ' +
        'so even then.',
    ),
    disabledCapabilities: Type.Array(
      Type.Unsafe<(typeof capabilities)[number]>({ type: 'string', enum: [...capabilities] }),
      {
        default: [],
        allowed: `a list of ${capabilities.join(', ')}`,
        description: `Which of ${capabilities.join(', ')} this manager does without.`,
      },
    ),
  },
  'How clusters are brought in step.',
)

const leaderElection = concern(
  {
    namespace: Type.Optional(
      Type.String({ ...name, description: 'Namespace of the Lease; otherwise the manager’s own.' }),
    ),
    leaseSeconds: Type.Integer({
      default: 2,
      minimum: 1,
      maximum: 300,
      description: 'Other managers wait so long after the last renewal they saw. Whole seconds.',
    }),
    renewDeadlineSeconds: Type.Number({
      default: 1.4,
      minimum: 0.1,
      maximum: 300,
      description: 'A leader that could not renew for so long gives up.',
    }),
    retrySeconds: Type.Number({
      default: 0.3,
      minimum: 0.1,
      maximum: 60,
      description: 'Between two tries to lead, or to renew.',
    }),
  },
  'Which of several managers works. Safety does not rest on it.',
)

const api = concern(
  {
    host: host('the API'),
    port: port(9_500, 'the API, HTTPS'),
    tokenFile: path('File with the API’s token; otherwise it is read from Secret regent-api.'),
  },
  'The API that people and the command line ask.',
)

const orchestrator = concern(
  {
    enabled: Type.Boolean({ default: false, description: 'Serve orchestrator’s HTTP interface.' }),
    host: host('orchestrator’s interface'),
    port: port(3_000, 'orchestrator’s interface, plain HTTP'),
    hosts: oneOf(
      ['address', 'name'],
      'address',
      'How servers are called: by their address, or by the name of the instance.',
    ),
    loginFile: path('File with user:password that is asked of everybody; otherwise whoever reaches the port may ask.'),
    readOnly: Type.Boolean({ default: false, description: 'Nothing is changed through this interface.' }),
  },
  'For scripts that speak to orchestrator: docs/guide/from-orchestrator.md.',
)

const metrics = concern(
  { host: host('the metrics server'), port: port(8_080, 'the metrics, plain HTTP') },
  'For Prometheus.',
)
const health = concern(
  { host: host('the health server'), port: port(9_440, '/healthz and /readyz, plain HTTP') },
  'For the kubelet.',
)

const webhook = concern(
  {
    enabled: Type.Boolean({ default: true, description: 'Serve the defaulting and validating webhooks.' }),
    host: host('the webhook server'),
    port: port(9_443, 'the webhooks, HTTPS'),
    certificateFolder: path(
      'Folder with tls.crt and tls.key, such as cert-manager’s Secret as a volume; otherwise Regent makes its own certificate.',
    ),
    waitForSecretSeconds: Type.Integer({
      default: 90,
      minimum: 1,
      maximum: 600,
      description: 'How long a start waits for the certificate.',
    }),
  },
  'The admission webhooks.',
)

const log = concern(
  {
    level: oneOf(logLevels, 'info', 'How much is logged.'),
    file: path('A file that gets every line too, as JSON, besides standard output.'),
    maxBytes: Type.Integer({
      default: 20_971_520,
      minimum: 65_536,
      maximum: 10_737_418_240,
      description: 'A log file that would grow past this is put aside.',
    }),
    maxFiles: Type.Integer({
      default: 5,
      minimum: 1,
      maximum: 100,
      description: 'Files put aside that are kept, <file>.1 the newest.',
    }),
    pretty: Type.Optional(
      Type.Boolean({
        description: 'Lines for people rather than JSON on standard output; otherwise where that is a terminal.',
      }),
    ),
  },
  'What the manager writes down.',
)

const profiling = concern(
  {
    address: Type.Optional(
      Type.String({
        format: 'listen-address',
        allowed: '<IP address>:<port>, or :<port> for 127.0.0.1',
        description:
          'Serve CPU profiles and heap snapshots here, to anyone who reaches it: <IP address>:<port>, or ' +
          ':<port> for this pod only (kubectl port-forward reaches that).',
      }),
    ),
  },
  'To see what the manager spends time and memory on.',
)

const images = concern(
  {
    mysql: Type.Optional(
      Type.String({
        ...image,
        description: 'The image of clusters that name none. It is written into their resource once.',
      }),
    ),
    regent: Type.String({ ...image, description: 'The image of Regent that agents run.' }),
    pullPolicy: oneOf(
      ['Always', 'IfNotPresent', 'Never'],
      'IfNotPresent',
      'When the kubelet pulls the image of Regent for a lifecycle agent that is put into a pod.',
    ),
  },
  'What pods run.',
)

export const kubernetesManagerOptionsSchema = Type.Object(
  { kube, watch, reconcile, leaderElection, api, orchestrator, metrics, health, webhook, log, profiling, images },
  { additionalProperties: false, default: {} },
)

export type KubernetesManagerOptions = Static<typeof kubernetesManagerOptionsSchema>
export type Capability = (typeof capabilities)[number]
