import { described, RegentError } from '#common/errors/errors.ts'
import { say, type Sayable, type Sentence } from '#common/sentence/sentence.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { regentVersion } from '#common/version.ts'
import { createKubeClient } from '#controller-runtime/client/http-kube-client.ts'
import { KubeApiError } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { KubeConnection } from '#controller-runtime/kube-config/kube-config.ts'
import { isReady } from '#controller-runtime/objects/conditions.ts'
import { leases } from '#controller-runtime/objects/lease.ts'
import type { KubeObject, ObjectKey, Resource } from '#controller-runtime/objects/objects.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { manager } from '#kube/names/manager-names.ts'
import { secrets, textIn } from '#kube/secrets/secrets.ts'

interface Pod extends KubeObject {
  readonly spec?: {
    readonly containers?: readonly {
      readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[]
    }[]
  }
  readonly status?: {
    readonly phase?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

const pods: Resource<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }

const deadlineMs = 10_000

export interface ManagerPod {
  readonly name: string
  readonly port: number
}

export interface FoundManagers {
  readonly token: string
  /** PEM. */
  readonly ca: string
  /** Pods that are ready, or that run where none is ready, the leader first. At least one. */
  readonly pods: readonly ManagerPod[]
}

/**
 * Asks Kubernetes for the managers in a namespace and for what a request to them needs. Throws `REGENT_API_UNREACHABLE`
 * where there is none, `REGENT_KUBE_FORBIDDEN` with the right that is missing.
 */
export async function findManagers(connection: KubeConnection, namespace: string): Promise<FoundManagers> {
  const { tokenSecret, tokenKey, authorityConfigMap, caKey } = manager
  const client = createKubeClient({ connection, world: realWorld, userAgent: `regent/${regentVersion} command` })
  try {
    const [secret, authority, found, leader] = await Promise.all([
      existing(client, secrets, { namespace, name: tokenSecret }),
      // In no Secret: who may use the command need not read the key of the managers' authority.
      existing(client, configMaps, { namespace, name: authorityConfigMap }),
      client.list(pods, { namespace, labelSelector: manager.podSelector, deadlineMs }),
      leaderIn(client, namespace),
    ])
    const token = given(textIn(secret, tokenKey), say`Secret ${namespace}/${tokenSecret}`, tokenKey)
    const ca = given(authority.data?.[caKey], say`ConfigMap ${namespace}/${authorityConfigMap}`, caKey)
    return { token: token.trim(), ca, pods: usable(found.items, namespace, leader) }
  } catch (error) {
    throw withRights(error, namespace)
  } finally {
    await client.close()
  }
}

/** The error, with all the rights that a person needs where one was missing. */
export function withRights(error: unknown, namespace: string): unknown {
  if (!(error instanceof KubeApiError) || error.status !== 403) return error
  const { tokenSecret, authorityConfigMap } = manager
  const rights = say`get secrets ${tokenSecret}, get configmaps ${authorityConfigMap}, list pods, get and create pods/portforward, and get leases.coordination.k8s.io`
  return new RegentError(
    'REGENT_KUBE_FORBIDDEN',
    say`${described(error)}. In namespace ${namespace} this command must be allowed to ${rights}`,
    { cause: error },
  )
}

async function existing<Kind extends KubeObject>(
  client: KubeClient,
  resource: Resource<Kind>,
  key: ObjectKey,
): Promise<Kind> {
  const object = await client.get(resource, key, { deadlineMs })
  if (object !== undefined) return object
  const missing = say`there is no ${resource.kind} "${key.name}" in namespace "${key.namespace}"`
  throw unreachable(
    say`${missing}: Regent is not installed there, or has not started yet; --manager-namespace names another namespace`,
  )
}

function given(text: string | undefined, where: Sayable, key: string): string {
  if (text === undefined) throw unreachable(say`${where} has no key "${key}"`)
  return text
}

/** The name of the leading pod with `_`; who may not read the lease asks the pods one after the other. */
async function leaderIn(client: KubeClient, namespace: string): Promise<string> {
  try {
    const lease = await client.get(leases, { namespace, name: manager.lease }, { deadlineMs })
    return lease?.spec?.holderIdentity ?? ''
  } catch (error) {
    if (error instanceof KubeApiError) return ''
    throw error
  }
}

/**
 * A node that the API server has not heard of for a while has no ready pod, until its kubelet has said how they are: a
 * manager that runs there answers all the same.
 */
function usable(all: readonly Pod[], namespace: string, leader: string): readonly ManagerPod[] {
  const staying = all.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const ready = staying.filter(isReady)
  const able = ready.length > 0 ? ready : staying.filter(({ status }) => status?.phase === 'Running')
  const names = all.map(({ metadata }) => metadata.name).join(', ')
  if (able.length === 0)
    throw unreachable(
      names === ''
        ? say`there is no manager pod (${manager.podSelector}) in namespace "${namespace}"`
        : say`no manager in namespace "${namespace}" is ready, or runs: ${names}`,
    )
  const leads = (pod: Pod): number => (leader.startsWith(`${pod.metadata.name}_`) ? 0 : 1)
  return able
    .toSorted((one, other) => leads(one) - leads(other))
    .map((pod) => ({ name: pod.metadata.name, port: portOf(pod) }))
}

function portOf({ spec }: Pod): number {
  const ports = (spec?.containers ?? []).flatMap((container) => container.ports ?? [])
  return ports.find(({ name }) => name === manager.portName)?.containerPort ?? manager.port
}

export function unreachable(what: Sentence, cause?: unknown): RegentError {
  return new RegentError('REGENT_API_UNREACHABLE', what, { cause })
}
