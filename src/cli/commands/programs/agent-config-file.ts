import type { AgentConfig } from '#agents/instance/config.ts'
import { defaultArchiveBytes } from '#failover/protocol/archive-default.ts'
import { defaultMode, modes } from '#failover/protocol/mode-name.ts'
import { contradictionIn, defaultTimings } from '#failover/protocol/timings.ts'
import { RegentError } from '#common/errors/errors.ts'
import { hostsHere, ownAddresses } from '#common/process/pod-addresses.ts'
import { reported, say, type Sayable } from '#common/sentence/sentence.ts'
import { parseBoundedJson } from '#common/input/bounded-json.ts'
import { exactObject, integer, text } from '#common/input/json-schema.ts'
import { logLevels } from '#common/log/log-levels.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { refuseNewer } from '#local/files/file-version.ts'
import { readJson } from '#local/files/input-file.ts'

const path = (description: string) => ({ type: 'string', pattern: '^/', minLength: 1, maxLength: 4096, description })
const program = (description: string, minItems: number) => ({
  type: 'array',
  items: text(1, 4096),
  minItems,
  maxItems: 32,
  description,
})
const port = (description: string) => ({ ...integer(1, 65_535), description })

const timingNames = Object.keys(defaultTimings)
const timingsSchema = exactObject(
  Object.fromEntries(timingNames.map((name) => [name, integer(1, 86_400_000)])),
  timingNames,
  'Durations that differ from the defaults. Milliseconds.',
)

/** The agent's configuration file. Every path is absolute. */
export const agentConfigSchema = exactObject(
  {
    version: { const: 1, description: 'Version of this format.' },
    cluster: { type: 'string', pattern: '^[a-z][a-z0-9-]{0,38}$', description: 'Name of the cluster.' },
    mode: { type: 'string', pattern: `^(${modes.join('|')})$`, description: 'How the cluster replicates.' },
    instance: {
      type: 'string',
      pattern: '^[a-z][a-z0-9-]{0,38}-[0-9]{1,2}$',
      description: 'Name of the instance; where it is missing, from REGENT_INSTANCE.',
    },
    host: {
      ...text(1, 253),
      description: 'Address that mysqld and the agent listen on; where it is missing, from REGENT_HOST.',
    },
    otherHosts: {
      type: 'array',
      items: text(1, 253),
      maxItems: 8,
      description:
        'Further addresses at which mysqld listens for clients; where these are missing, what else of REGENT_HOSTS (with commas between) an interface has.',
    },
    port: port('Port of mysqld for clients and replicas.'),
    adminPort: port('Port of mysqld’s administrative interface.'),
    agentPort: port('Port of the agent.'),
    probePort: {
      ...integer(0, 65_535),
      description:
        'Port on which /live, /ready and /metrics are answered without TLS, for the kubelet and Prometheus; 0 for none of its own.',
    },
    tls: exactObject(
      { certificateFolder: path('Folder with tls.crt, tls.key and ca.crt.') },
      [],
      'With certificateFolder, a folder with tls.crt, tls.key and ca.crt (as a mounted Secret has them), the ' +
        'agent speaks TLS, asks callers for a certificate of the same authority, and takes changed files without ' +
        'a restart.',
    ),
    clientTls: exactObject(
      {
        certificateFolder: path(
          'Folder with tls.crt and tls.key, and ca.crt where clients’ own certificates are checked.',
        ),
        required: { type: 'boolean', description: 'Whether mysqld refuses clients without TLS.' },
      },
      ['certificateFolder'],
      'With certificateFolder, a folder with tls.crt, tls.key and perhaps ca.crt, mysqld shows that certificate ' +
        'to clients, and takes changed files without a restart; with required it refuses clients without TLS.',
    ),
    mysqld: program('Command line that starts mysqld, without options.', 1),
    launcherDir: {
      ...text(0, 4096),
      description:
        'Folder shared with the launcher that starts mysqld in another container of the pod; empty where the agent starts it.',
    },
    mysqlbinlog: program('Command line of mysqlbinlog; empty where it is missing.', 0),
    pluginDir: { ...text(0, 4096), description: 'Where the server’s plugins lie; empty for its own default.' },
    shareDir: { ...text(0, 4096), description: 'Where the server’s messages lie; empty for its own default.' },
    volume: path('The instance’s volume: data/, agent/, run/ and archive/ are kept below it.'),
    tokenFile: path('File with the bearer token of the cluster’s agents.'),
    accountSecretFile: path('File with the secret from which account passwords are derived.'),
    bootIdFile: path('Where the kernel’s boot id is read.'),
    timings: timingsSchema,
    lowSpaceBytes: {
      ...integer(0, 1_099_511_627_776),
      description: 'With less free space a primary stops taking writes.',
    },
    keepBinlogsSeconds: {
      ...integer(1, 31_536_000),
      description: 'A binlog is purged this long after its last write, once every instance has what is in it.',
    },
    heldBinlogsBytes: {
      ...integer(0, 1_125_899_906_842_624),
      description: 'With more binlogs than this, older ones are purged also where an instance lacks them.',
    },
    archiveBytes: {
      ...integer(0, 1_125_899_906_842_624),
      description: 'With more archives than this, the oldest are removed; never what was archived last.',
    },
    serverSettings: {
      type: 'object',
      patternProperties: { '^[A-Za-z0-9_-]{1,64}$': text(0, 4096) },
      additionalProperties: false,
      description: 'Further settings of mysqld, by name; managed ones are refused.',
    },
    allowUnclassified: {
      type: 'array',
      items: text(1, 64),
      maxItems: 32,
      description:
        'Names of settings that Regent does not know and that serverSettings may have all the same: nobody can say whether safety rests on them.',
    },
    lifecycle: exactObject(
      {
        port: port('Port of HTTP; 3501 where it is missing.'),
        streamingPort: port('Port that data is streamed on, raw TCP; 3502 where it is missing.'),
        tokenFile: path('File with the bearer token that every caller must send; not that of the agents.'),
        open: {
          type: 'boolean',
          description: 'true asks no token of anybody: whoever reaches the ports may run every action.',
        },
      },
      ['port', 'streamingPort', 'tokenFile', 'open'],
      'Serves lifecycle actions and probes as KubeBlocks’ agent does (docs/guide/lifecycle-agent.md), on ports ' +
        'of its own at the address host. It needs either tokenFile, or open with true. Where it is missing, from ' +
        'REGENT_LIFECYCLE, as JSON.',
    ),
    far: exactObject(
      {
        agentHost: text(1, 253),
        user: text(1, 128),
        passwordFile: path('File whose first line is the password of that account.'),
        caFile: path('PEM of the authority that signed the server’s certificate.'),
        serverUuid: text(36, 36),
        ssh: exactObject(
          {
            user: text(1, 128),
            port: port('Port of sshd.'),
            keyFile: path('Private key.'),
            knownHostsFile: path('Host keys that are accepted.'),
          },
          [],
          'How the host is reached by SSH.',
        ),
        start: text(1, 1_000),
        places: exactObject(
          {
            dataDir: path('Data folder there.'),
            pidFile: path('Pid file there.'),
            binlogIndex: path('Index of the binlogs there.'),
            relayLogBase: path('What the names of the relay logs there begin with.'),
            relayLogIndex: path('Index of the relay logs there.'),
            errorLog: { ...text(0, 4096), description: 'Error log there; empty where messages go elsewhere.' },
          },
          [],
          'Where everything lies on the host, as its server said when it was adopted.',
        ),
      },
      ['caFile', 'ssh', 'start'],
      'The server is on a host where nothing of Regent runs (docs/guide/adopt-managed.md): written by regent adopt manage.',
    ),
    logLevel: { type: 'string', pattern: `^(${logLevels.join('|')})$`, description: 'How much is logged.' },
  },
  [
    'mode',
    'otherHosts',
    'probePort',
    'tls',
    'clientTls',
    'launcherDir',
    'keepBinlogsSeconds',
    'heldBinlogsBytes',
    'archiveBytes',
    'allowUnclassified',
    'lifecycle',
    'far',
  ],
)

/** For files that are older than these fields. */
const laterDefaults = {
  mode: defaultMode,
  launcherDir: '',
  probePort: 0,
  keepBinlogsSeconds: 259_200,
  heldBinlogsBytes: 21_474_836_480,
  archiveBytes: defaultArchiveBytes,
} as const

/**
 * Reads an agent's configuration. Throws `REGENT_BAD_FILE` with field, value and what is allowed, or
 * `REGENT_NEWER_VERSION`.
 */
export async function readAgentConfig(file: string, env: NodeJS.ProcessEnv = process.env): Promise<AgentConfig> {
  const value = withEnvironment(await readJson(file, say`the configuration of the agent`), env)
  refuseNewer(file, value, 1)
  const refuse = (why: Sayable) =>
    new RegentError('REGENT_BAD_FILE', say`the configuration of the agent, ${file}: ${why}`)
  const complaint = complaintAbout(agentConfigSchema, value)
  if (complaint !== undefined) throw refuse(reported(complaint))
  const config: AgentConfig = { ...laterDefaults, ...(value as Omit<AgentConfig, keyof typeof laterDefaults>) }
  if (!config.instance.startsWith(`${config.cluster}-`))
    throw refuse(
      say`instance is "${config.instance}"; allowed is ${config.cluster}-<ordinal>, as cluster is "${config.cluster}"`,
    )
  const unsaid = complaintAboutLifecycle(config)
  if (unsaid !== undefined) throw refuse(unsaid)
  const contradiction = contradictionIn({ ...defaultTimings, ...config.timings })
  if (contradiction !== undefined) throw refuse(say`timings contradict each other: ${contradiction}`)
  return config
}

function complaintAboutLifecycle({ lifecycle, tokenFile }: AgentConfig): string | undefined {
  if (lifecycle === undefined) return undefined
  const { open = false, tokenFile: own } = lifecycle
  if ((own !== undefined) === open)
    return 'lifecycle does not say who may call; allowed is either tokenFile or open with true'
  return own === tokenFile
    ? 'lifecycle.tokenFile is tokenFile; allowed is another file: its ports have no TLS, and the token of the agents opens far more'
    : undefined
}

/**
 * Pods of a cluster share one file; each knows its own name and address from the environment, and whether it serves
 * lifecycle actions.
 */
function withEnvironment(value: unknown, env: NodeJS.ProcessEnv): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { REGENT_INSTANCE: instance, REGENT_HOST: host, REGENT_HOSTS: hosts = '', REGENT_LIFECYCLE: lifecycle } = env
  const otherHosts = hostsHere(hosts, ownAddresses()).filter((one) => one !== host)
  return {
    ...(instance && { instance }),
    ...(host && { host }),
    ...(host && otherHosts.length > 0 && { otherHosts }),
    ...(lifecycle && { lifecycle: parseBoundedJson(lifecycle, say`REGENT_LIFECYCLE`) }),
    ...value,
  }
}
