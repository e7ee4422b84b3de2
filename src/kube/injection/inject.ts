import type { V1Container, V1PodSpec, V1VolumeMount } from '@kubernetes/client-node'
import type { JsonPatch, JsonPatchOperation } from '#controller-runtime/client/kube-client.ts'
import { additionsOf, type AgentImage } from './agent-container.ts'
import { agentContainer, asks } from './marks.ts'
import { freePorts } from './ports.ts'
import { refusal } from './refusal.ts'
import { readWishes } from './wishes.ts'
import { say } from '#common/sentence/sentence.ts'

/** The part of a pod that is looked at. */
export interface InjectablePod {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
  readonly spec: V1PodSpec
}

/**
 * What puts Regent's lifecycle agent into a pod whose annotations ask for the agent. Empty where they do not, and where
 * the pod has the container already. Nothing that the pod has is changed. Throws `REGENT_NOT_INJECTED` where what the
 * annotations ask for is not possible. Which parts a pod gets follows KubeBlocks' agent.
 */
export function injectionPatch({ metadata, spec }: InjectablePod, agent: AgentImage): JsonPatch {
  const { containers, initContainers = [] } = spec
  const all = [...initContainers, ...containers]
  if (all.some(({ name }) => name === agentContainer)) return []
  const wishes = readWishes(metadata.annotations ?? {})
  if (wishes === undefined) return []
  refuseImpossible(spec, wishes.tokenSecret)
  const named = containerNamed(containers, wishes.container)
  const additions = additionsOf(
    wishes,
    {
      ports: freePorts(all),
      mounts: named === undefined ? [] : mountsIn(named),
      container: named?.securityContext,
      pod: spec.securityContext,
    },
    agent,
  )
  return [
    ...appended('/spec/volumes', spec.volumes, additions.volumes),
    ...appended('/spec/initContainers', initContainers, additions.initContainers),
    ...appended('/spec/containers', containers, [additions.container]),
  ]
}

function refuseImpossible(spec: V1PodSpec, tokenSecret: string | undefined): void {
  const { hostNetwork, restartPolicy = 'Always', securityContext } = spec
  if (hostNetwork === true)
    throw refusal(
      say`${asks.inject}: the pod has hostNetwork, so that container ${agentContainer} would take ports of the node; take one of the two away`,
    )
  if (restartPolicy !== 'Always')
    throw refusal(
      say`${asks.inject}: the pod’s restartPolicy is ${restartPolicy}, and container ${agentContainer} never ends, so that the pod would not; take the annotation away`,
    )
  if (tokenSecret !== undefined && securityContext?.fsGroup === undefined)
    throw refusal(
      say`${asks.tokenSecret}: the pod has no securityContext.fsGroup, without which container ${agentContainer} cannot read Secret ${tokenSecret}; set it to any group`,
    )
}

function containerNamed(containers: readonly V1Container[], wanted: string | undefined): V1Container | undefined {
  if (wanted === undefined) return undefined
  const found = containers.find(({ name }) => name === wanted)
  if (found !== undefined) return found
  throw refusal(
    say`${asks.container}: the pod has no container "${wanted}"; there are ${containers.map(({ name }) => name).join(', ')}`,
  )
}

/** A path made of variables needs those of its own container. */
function mountsIn({ name, volumeMounts = [] }: V1Container): readonly V1VolumeMount[] {
  const expanded = volumeMounts.find(({ subPathExpr }) => subPathExpr !== undefined)
  if (expanded === undefined) return volumeMounts.map(oneWay)
  const mounting = say`container "${name}" mounts ${expanded.mountPath} by subPathExpr`
  throw refusal(
    say`${asks.container}: ${mounting}, whose variables container ${agentContainer} does not have; mount by subPath, or name another container`,
  )
}

/** What the agent mounts comes into no other container: only a privileged one may ask for that. */
function oneWay(mount: V1VolumeMount): V1VolumeMount {
  return mount.mountPropagation === 'Bidirectional' ? { ...mount, mountPropagation: 'HostToContainer' } : mount
}

function appended(path: string, list: readonly unknown[] | undefined, more: readonly unknown[]): JsonPatchOperation[] {
  if (more.length === 0) return []
  if (list === undefined || list.length === 0) return [{ op: 'add', path, value: more }]
  return more.map((value) => ({ op: 'add', path: `${path}/-`, value }))
}
