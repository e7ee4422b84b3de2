/** Annotations of a pod that asks for the lifecycle agent. Documented in docs/guide/lifecycle-agent.md. */
export const asks = {
  /** `true` asks for the agent. */
  inject: 'regent.dev/lifecycle-agent',
  /** `true`: callers send no token. */
  open: 'regent.dev/lifecycle-open',
  /** A Secret whose key `token` every caller sends. */
  tokenSecret: 'regent.dev/lifecycle-token-secret',
  /** `KB_AGENT_ACTION`, as JSON. */
  actions: 'regent.dev/lifecycle-actions',
  /** `KB_AGENT_PROBE`, as JSON. */
  probes: 'regent.dev/lifecycle-probes',
  /** `KB_AGENT_STREAMING`: names, separated by commas. */
  streaming: 'regent.dev/lifecycle-streaming',
  /** A ConfigMap whose keys are variables of the agent. */
  configMap: 'regent.dev/lifecycle-config-map',
  /** The image that scripts run in. */
  image: 'regent.dev/lifecycle-image',
  /** The container whose volumes the agent sees. */
  container: 'regent.dev/lifecycle-container',
} as const

/** What every annotation but `asks.inject` begins with. */
export const askPrefix = 'regent.dev/lifecycle-'

/**
 * Name of the agent's container. Managers made for KubeBlocks find the agent's port by this name, and Events of an
 * agent are about `spec.containers{kbagent}`.
 */
export const agentContainer = 'kbagent'
export const portNames = { http: 'http', streaming: 'streaming' } as const
