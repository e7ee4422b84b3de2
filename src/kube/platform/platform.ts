import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Platform, PlatformInstance, PrimaryRoute } from '#common/ports/platform.ts'
import type { InformerHandler, InformerPort } from '#controller-runtime/informers/informer-port.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { isReady } from '#controller-runtime/objects/conditions.ts'
import { keyText, type ObjectKey, type OwnerReference } from '#controller-runtime/objects/objects.ts'
import { applyObject } from '#controller-runtime/changes/server-side-apply.ts'
import { instanceName } from '#topology/snapshot/member.ts'
import type { CommittedEpoch } from '../primary/epoch.ts'
import { mysqlClusters } from '../spec/mysql-cluster.ts'
import { labels, namesOf } from '../names/names.ts'
import { PrimaryEndpoints, type EndpointSlice } from '../primary/primary-endpoints.ts'
import { PrimaryLabel } from '../primary/primary-label.ts'
import { giveUp } from './replacement.ts'
import { agentAddress, mysqlPort } from '../objects/services.ts'
import { foreign, isOfCluster } from '../spec/owned.ts'
import type { MySQLClusterSpec } from '../spec/spec-schema.ts'
import { stateOfPod, type PodState } from '../pods/pod-state.ts'
import type { PodWarnings } from './pod-warnings.ts'
import { scaleManager, scaleOf, statefulSets, type Pod, type StatefulSet } from '../pods/stateful-set.ts'

export interface KubePlatformParts {
  /** Writes only while this manager leads. */
  readonly client: KubeClient
  readonly pods: InformerPort<Pod>
  readonly statefulSets: InformerPort<StatefulSet>
  readonly slices: InformerPort<EndpointSlice>
  readonly cluster: ObjectKey
  readonly owner: OwnerReference
  readonly routing: MySQLClusterSpec['services']['routing']
  readonly committedEpoch: CommittedEpoch
  readonly warnings?: PodWarnings
}

export interface KubePlatform extends Platform {
  /**
   * Somebody else changed or deleted what is published: it must be looked at, or clients stay without a primary until
   * the next failover.
   */
  onMeddling(found: () => void): void
  close(): void
}

/**
 * Kubernetes as a place where a cluster runs: the pods of its StatefulSet, found by their addresses and never by DNS,
 * which lags by seconds.
 */
export function kubePlatform({
  client,
  pods,
  statefulSets: sets,
  slices,
  cluster,
  owner,
  routing,
  committedEpoch,
  warnings,
}: KubePlatformParts): KubePlatform {
  const { namespace, name } = cluster
  const setKey = { namespace, name: namesOf(name).statefulSet }
  const way =
    routing === 'labels'
      ? new PrimaryLabel(client, cluster, committedEpoch)
      : new PrimaryEndpoints(client, { cluster: name, namespace, owner, committedEpoch })
  /**
   * A pod that is being made again has no address for a moment; until it has another one its replicas are not told to
   * follow nobody.
   */
  const lastAddresses = new Map<string, string>()
  const ends: (() => void)[] = []

  const ordinals = () => Array.from({ length: sets.get(setKey)?.spec.replicas ?? 0 }, (_, ordinal) => ordinal)
  const amiss = () =>
    ordinals()
      .map((ordinal) => instanceName(name, ordinal))
      .filter((podName) => !isReady(pods.get({ namespace, name: podName })))

  function instance(ordinal: number): PlatformInstance {
    const podName = instanceName(name, ordinal)
    const pod = pods.get({ namespace, name: podName })
    const ip = pod?.status?.podIP
    if (ip !== undefined && ip !== '') lastAddresses.set(podName, ip)
    const host = lastAddresses.get(podName) ?? ''
    return {
      name: podName,
      host,
      port: mysqlPort,
      agent: host === '' ? '' : agentAddress(host),
      ...words(podName, pod),
    }
  }

  /** What Kubernetes says of a pod that is not ready. */
  function words(podName: string, pod: Pod | undefined): Pick<PlatformInstance, 'trouble' | 'starting'> {
    const { trouble, isStarting } = pod === undefined || isReady(pod) ? ready : stateOfPod(pod)
    if (isReady(pod)) return {}
    const warning = warnings?.of(podName) ?? ''
    const said = [trouble, warning].filter((text) => text !== '').join('; ')
    return { ...(said !== '' && { trouble: said }), ...(isStarting && warning === '' && { starting: true }) }
  }

  return {
    async instances() {
      return ordinals().map(instance)
    },
    onChange(changed) {
      warnings?.follow(amiss, changed)
      const told = <Kind extends Pod | StatefulSet>(isOurs: (object: Kind) => boolean) => ({
        added: (object: Kind) => void (isOurs(object) && changed()),
        updated: (before: Kind, after: Kind) => void (isOurs(after) && facts(before) !== facts(after) && changed()),
        deleted: (object: Kind) => void (isOurs(object) && changed()),
      })
      ends.push(
        pods.addHandler(
          told<Pod>(({ metadata }) => metadata.namespace === namespace && metadata.labels?.[labels.cluster] === name),
        ),
      )
      ends.push(
        sets.addHandler(
          told<StatefulSet>(({ metadata }) => metadata.namespace === namespace && metadata.name === setKey.name),
        ),
      )
    },
    onMeddling(found) {
      if (!(way instanceof PrimaryEndpoints)) return
      const isOurs = ({ metadata }: EndpointSlice): boolean =>
        metadata.namespace === namespace && metadata.name === namesOf(name).primary
      const handler: InformerHandler<EndpointSlice> = {
        added: () => undefined,
        updated: (_before, after) => void (isOurs(after) && !way.isOwn(after) && found()),
        deleted: (last) => void (isOurs(last) && found()),
      }
      ends.push(slices.addHandler(handler))
    },
    publishPrimary: (route: PrimaryRoute) => way.publish(route),
    publishedPrimary: () => way.published(),
    async scaleTo(count) {
      const live = await client.get(statefulSets, setKey)
      // An apply would go to whatever has the name by then: a set of somebody else, where there is none now.
      if (live === undefined) throw new RegentError('REGENT_REFUSED', say`StatefulSet ${keyText(setKey)} is not there`)
      if (!isOfCluster(name, live)) throw foreign(name, [live])
      const { uid = '' } = live.metadata
      const scale = scaleOf(cluster, count)
      const intent = { ...scale, metadata: { ...scale.metadata, uid } }
      await applyObject(client, statefulSets, intent, { fieldManager: scaleManager })
    },
    async wish(count) {
      await client.patch(mysqlClusters, cluster, { spec: { instances: count } })
    },
    replace: (instance, isSilent) => giveUp(client, { namespace, name: instance, cluster: name }, isSilent),
    close() {
      warnings?.close()
      for (const end of ends.splice(0)) end()
    },
  }
}

/** What of an object says which instances there are, where, and what is amiss with them. */
function facts(object: Pod | StatefulSet): string {
  const pod = object as Pod
  const { trouble, isStarting } = isReady(pod) ? ready : stateOfPod(pod)
  return `${(object as StatefulSet).spec?.replicas ?? ''} ${pod.status?.podIP ?? ''} ${isStarting} ${trouble}`
}

const ready: PodState = { trouble: '', isStarting: false }
