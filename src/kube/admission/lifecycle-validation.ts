import type { V1Container } from '@kubernetes/client-node'
import { builtInNames, builtInStreams } from '#agents/lifecycle/built-in/names.ts'
import { readConfiguration } from '#agents/lifecycle/configuration/configuration.ts'
import type { Action } from '#agents/lifecycle/wire/definitions.ts'
import { RegentError } from '#common/errors/errors.ts'
import { renamed, say, type Sentence } from '#common/sentence/sentence.ts'
import { namesOf } from '../names/names.ts'
import { lifecycleVolumes, mayReport, type Lifecycle } from '../pods/lifecycle.ts'
import { portsInUse } from '../objects/agent-config.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import type { MySQLClusterSpec } from '../spec/spec-schema.ts'

const builtIn = new Map(
  builtInNames.map((name): [string, { readonly stream?: true }] => [
    name,
    builtInStreams.includes(name) ? { stream: true } : {},
  ]),
)
const fieldOf: Readonly<Record<string, string>> = {
  KB_AGENT_ACTION: 'spec.lifecycle.actions',
  KB_AGENT_PROBE: 'spec.lifecycle.probes',
  KB_AGENT_STREAMING: 'spec.lifecycle.streaming',
}

/** Why agents could not serve what the resource asks for, each in a sentence with field, value and what is allowed. */
export function* complaintsAboutLifecycle({ metadata, spec }: MySQLCluster): Generator<Sentence> {
  const { lifecycle } = spec
  if (lifecycle === undefined) return
  yield* aboutNames(lifecycle)
  yield* aboutCallers(lifecycle, metadata.name)
  yield* aboutPorts(lifecycle, spec)
  yield* aboutVolumes(spec)
  yield* aboutActions(lifecycle)
}

/** What is allowed, and dangerous or not enough by itself. */
export function lifecycleWarnings({ metadata, spec: { lifecycle } }: MySQLCluster): readonly string[] {
  if (lifecycle === undefined) return []
  const { open, port, streamingPort } = lifecycle
  return [
    ...(open === true
      ? [
          `spec.lifecycle.open is true: whoever reaches port ${port} or ${streamingPort} of a pod may run every action; give tokenSecret, or a NetworkPolicy`,
        ]
      : []),
    ...(mayReport(lifecycle)
      ? [
          `spec.lifecycle: probes report Events as account ${namesOf(metadata.name).serviceAccount}, which ` +
            'Regent gives no rights: bind a Role with get, create and update of events to the account',
        ]
      : []),
  ]
}

function* aboutNames({ tokenSecret, configMap }: Lifecycle): Generator<Sentence> {
  for (const [field, name] of Object.entries({ 'tokenSecret.name': tokenSecret?.name, configMap }))
    if (name !== undefined && !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name))
      yield say`spec.lifecycle.${field} is "${name.slice(0, 80)}"; allowed is the name of an object: lower-case letters, digits, - and .`
}

/** As the definition's own rules say, for whoever speaks to the webhook alone. */
function* aboutCallers({ open = false, tokenSecret, ...rest }: Lifecycle, cluster: string): Generator<Sentence> {
  if (open === (tokenSecret !== undefined))
    yield say`spec.lifecycle does not say who may call; give either tokenSecret, or open with true`
  const { client, admin, internal, certificates, authority } = namesOf(cluster)
  const own: readonly string[] = [client, admin, internal, certificates, authority]
  if (tokenSecret !== undefined && own.includes(tokenSecret.name))
    yield say`spec.lifecycle.tokenSecret.name is "${tokenSecret.name}"; allowed is a Secret that is not Regent’s own: the ports have no TLS`
  const { configMap, actions, probes, streaming } = rest
  if (configMap !== undefined && [actions, probes, streaming].some((text) => text !== undefined))
    yield say`spec.lifecycle.configMap stands for actions, probes and streaming; give either configMap or these`
}

function* aboutPorts({ port, streamingPort }: Lifecycle, { pod }: MySQLClusterSpec): Generator<Sentence> {
  if (port === streamingPort)
    yield say`spec.lifecycle.port and streamingPort are both ${port}; each needs a port of its own`
  const others = (pod.containers ?? []) as unknown as readonly V1Container[]
  const taken = new Map([
    ...portsInUse.map((used): [number, string] => [used, 'Regent or mysqld']),
    ...others.flatMap(({ name, ports = [] }) =>
      ports.map(({ containerPort }): [number, string] => [containerPort, `container ${name}`]),
    ),
  ])
  for (const [field, number] of Object.entries({ port, streamingPort })) {
    const by = taken.get(number)
    if (by !== undefined)
      yield say`spec.lifecycle.${field} is ${number}, which ${by} has; allowed is a port that is free`
  }
}

function* aboutVolumes({ pod }: MySQLClusterSpec): Generator<Sentence> {
  const own: readonly unknown[] = Object.values(lifecycleVolumes)
  for (const { name } of (pod.volumes ?? []) as readonly { readonly name?: unknown }[])
    if (own.includes(name))
      yield say`spec.pod.volumes is "${String(name)}"; allowed with spec.lifecycle are names other than ${own.join(', ')}`
}

/** Checked as the agent itself checks them: what is wrong is known before a pod is restarted for it. */
function* aboutActions({ actions, probes, streaming }: Lifecycle): Generator<Sentence> {
  try {
    const { actions: known } = readConfiguration(
      { KB_AGENT_ACTION: actions, KB_AGENT_PROBE: probes ?? 'null', KB_AGENT_STREAMING: streaming },
      builtIn,
    )
    for (const action of (known ?? new Map<string, never>()).values()) yield* aboutPlace(action)
  } catch (error) {
    if (!(error instanceof RegentError)) throw error
    yield renamed(error.said, fieldOf)
  }
}

/** What KubeBlocks' actions may say of the container they run in. Here all of them run in the agent's. */
function* aboutPlace({ name, exec = {} }: Action): Generator<Sentence> {
  for (const field of ['image', 'container', 'env'])
    if (Object.hasOwn(exec, field))
      yield say`spec.lifecycle.actions: action "${name}" has exec.${field}; allowed is none: actions run in the agent’s container, in Regent’s image`
}
