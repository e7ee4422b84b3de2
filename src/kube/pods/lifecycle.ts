import type { V1Container, V1ContainerPort, V1EnvVar, V1Volume, V1VolumeMount } from '@kubernetes/client-node'
import { portNames } from '../injection/marks.ts'
import { portName } from '../injection/ports.ts'
import { literal, podVariables } from '../injection/variables.ts'
import type { MySQLClusterSpec } from '../spec/spec-schema.ts'

/** What a cluster says of lifecycle actions. */
export type Lifecycle = NonNullable<MySQLClusterSpec['lifecycle']>

/** What the agent's container and its pod have more where the agent serves lifecycle actions. */
export interface LifecycleParts {
  readonly env: readonly V1EnvVar[]
  readonly ports: readonly V1ContainerPort[]
  readonly volumeMounts: readonly V1VolumeMount[]
  readonly volumes: readonly V1Volume[]
}

/** Volumes of a pod whose agent serves lifecycle actions. */
export const lifecycleVolumes = { token: 'lifecycle-token', account: 'lifecycle-account' } as const

const tokenFolder = '/etc/regent-lifecycle'
/** Where every client of the API server looks. */
const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'
const nothing: LifecycleParts = { env: [], ports: [], volumeMounts: [], volumes: [] }

/**
 * The agent learns from the environment of its container what it serves, and not from the file that the agents of all
 * pods share: an agent that starts again in a pod of before must find no word of a token that this pod does not mount.
 */
export function lifecycleParts({ lifecycle, pod }: MySQLClusterSpec): LifecycleParts {
  if (lifecycle === undefined) return nothing
  const { port, streamingPort, tokenSecret } = lifecycle
  const caller = tokenSecret === undefined ? { open: true } : { tokenFile: `${tokenFolder}/token` }
  const others = (pod.containers ?? []) as unknown as readonly V1Container[]
  // A field with nothing behind is null.
  const taken = new Set(others.flatMap(({ ports }) => (ports ?? []).flatMap(({ name }) => name ?? [])))
  const named = (word: string, number: number): V1ContainerPort => ({
    name: portName(word, number, taken),
    containerPort: number,
    protocol: 'TCP',
  })
  return {
    env: [
      { name: 'REGENT_LIFECYCLE', value: JSON.stringify({ port, streamingPort, ...caller }) },
      ...servedBy(lifecycle),
      ...podVariables,
    ],
    ports: [named(portNames.http, port), named(portNames.streaming, streamingPort)],
    volumeMounts: [
      ...(tokenSecret === undefined ? [] : [{ name: lifecycleVolumes.token, mountPath: tokenFolder, readOnly: true }]),
      ...(mayReport(lifecycle) ? [{ name: lifecycleVolumes.account, mountPath: accountFolder, readOnly: true }] : []),
    ],
    volumes: [...(tokenSecret === undefined ? [] : [tokenOf(tokenSecret)]), ...(mayReport(lifecycle) ? [account] : [])],
  }
}

/** Whether agents may have probes, which report Events to the API server. */
export function mayReport({ probes, configMap }: Lifecycle): boolean {
  return probes !== undefined || configMap !== undefined
}

/** The three variables of KubeBlocks' agent, from the resource or from a ConfigMap. */
function servedBy({ actions, probes, streaming, configMap }: Lifecycle): readonly V1EnvVar[] {
  if (configMap !== undefined)
    return ['KB_AGENT_ACTION', 'KB_AGENT_PROBE', 'KB_AGENT_STREAMING'].map((key) => ({
      name: key,
      valueFrom: { configMapKeyRef: { name: configMap, key, optional: true } },
    }))
  return [
    ...(actions === undefined ? [] : [literal('KB_AGENT_ACTION', actions)]),
    // Without this variable the agent does not look at the next.
    literal('KB_AGENT_PROBE', probes ?? 'null'),
    ...(streaming === undefined ? [] : [literal('KB_AGENT_STREAMING', streaming)]),
  ]
}

/** Optional: without the Secret a pod that is made again would hang, and its instance be missing. */
function tokenOf({ name, key }: NonNullable<Lifecycle['tokenSecret']>): V1Volume {
  return {
    name: lifecycleVolumes.token,
    secret: { secretName: name, optional: true, defaultMode: 0o440, items: [{ key, path: 'token' }] },
  }
}

/**
 * The account's token as the kubelet mounts it, for a single container of the pod. What the account may do is no
 * business of Regent's.
 */
const account: V1Volume = {
  name: lifecycleVolumes.account,
  projected: {
    defaultMode: 0o440,
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds: 3_607 } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
    ],
  },
}
