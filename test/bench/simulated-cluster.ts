import type { Recovery } from '#failover/protocol/notes.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { describeError } from '#common/errors/errors.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyOf, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import { materialIn } from '#kube/certificates/cluster-certificates.ts'
import { mysqlClusters, type MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { namesOf } from '#kube/names/names.ts'
import { secrets, textIn } from '#kube/secrets/secrets.ts'
import { agentPort } from '#kube/objects/services.ts'
import { pods, statefulSets, type Pod, type StatefulSet } from '#kube/pods/stateful-set.ts'
import { kubeStore } from '#store/kube.ts'
import type { Store } from '#store/store.ts'
import { instanceName } from '#topology/snapshot/member.ts'
import { SimulatedAgent } from './simulated-agent.ts'

const pollMs = 250

/**
 * A `MySQLCluster` whose pods are played: made as the StatefulSet says, running at once, with an agent at the address
 * of each.
 */
export class SimulatedCluster {
  readonly agents: readonly SimulatedAgent[]
  readonly #store: Store
  readonly #name: string

  private constructor(key: ObjectKey, store: Store, agents: readonly SimulatedAgent[]) {
    this.#name = key.name
    this.#store = store
    this.agents = agents
  }

  /**
   * @param addressOf the pod of each ordinal has its own
   */
  static async create(
    client: KubeClient,
    key: ObjectKey,
    instances: number,
    addressOf: (ordinal: number) => string,
  ): Promise<SimulatedCluster> {
    const wanted = {
      apiVersion: 'regent.dev/v1alpha1',
      kind: 'MySQLCluster',
      metadata: key,
      spec: { instances, storage: { size: '1Gi' }, image: 'mysql:9.7.4', failover: { windowSeconds: 0 } },
    }
    await client.create(mysqlClusters, wanted as unknown as MySQLCluster)
    const names = namesOf(key.name)
    const set = await until('its StatefulSet', () => client.get(statefulSets, { ...key, name: names.statefulSet }))
    const token = await until('the token of its agents', async () =>
      textIn(await client.get(secrets, { ...key, name: names.internal }), 'agent-token'),
    )
    const certificates = await until('the certificates of its agents', async () =>
      materialIn(await client.get(secrets, { ...key, name: names.certificates })),
    )
    const agents: SimulatedAgent[] = []
    for (let ordinal = 0; ordinal < instances; ordinal += 1) {
      const [instance, host] = [instanceName(key.name, ordinal), addressOf(ordinal)]
      const agent = new SimulatedAgent({ cluster: key.name, instance, host, port: agentPort, token, certificates })
      await agent.start()
      agents.push(agent)
      await runPod(client, set, instance, host)
    }
    return new SimulatedCluster(key, kubeStore(client, { namespace: key.namespace }), agents)
  }

  /** All replicas are in the sync set, and one agent is the primary. */
  whole(): Promise<SimulatedAgent> {
    return until(`${this.#name} whole`, async () => {
      const record = await this.#record()
      const isWhole =
        record !== undefined &&
        record.intent === null &&
        record.syncSet.length === this.agents.length - 1 &&
        record.acks === record.acksWanted
      return isWhole ? this.agents.find((agent) => agent.isPrimary()) : undefined
    })
  }

  #record(): Promise<ClusterRecord | undefined> {
    return this.#store.readRecord(this.#name)
  }

  /** The newest recovery that began at or after this wall clock time, once it has ended. */
  recoverySince(wallMs: number): Promise<Recovery> {
    return until(`a recovery of ${this.#name}`, async () =>
      (await this.#store.readNotes(this.#name)).recoveries.find(
        (one) => one.startedWallMs >= wallMs && one.outcome !== 'running',
      ),
    )
  }

  stop(): void {
    for (const agent of this.agents) agent.stop()
  }
}

async function runPod(client: KubeClient, set: StatefulSet, name: string, podIP: string): Promise<void> {
  const { metadata: template, spec } = set.spec.template
  const { apiVersion, kind } = { apiVersion: 'v1', kind: 'Pod' }
  const claimed = (set.spec.volumeClaimTemplates ?? []).map((claim) => ({
    name: claim.metadata?.name ?? '',
    emptyDir: {},
  }))
  const metadata = { ...keyOf(set), name, labels: { ...template?.labels }, annotations: { ...template?.annotations } }
  const pod = await client.create(pods, {
    apiVersion,
    kind,
    metadata,
    spec: { ...spec, volumes: [...(spec?.volumes ?? []), ...claimed] },
  } as unknown as Pod)
  const conditions = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
    type,
    status: 'True',
  }))
  await client.patch(
    pods,
    keyOf(pod),
    { status: { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions } },
    { subresource: 'status' },
  )
}

/** Long: a hundred clusters are made on a machine that has other things to do. */
const deadlineMs = 600_000

/** What fails meanwhile, as a busy API server does, is not there yet. */
async function until<Found>(what: string, look: () => Promise<Found | undefined>): Promise<Found> {
  let failure = ''
  for (
    const began = performance.now();
    performance.now() - began < deadlineMs;
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  ) {
    const found = await look().catch((error: unknown) => void (failure = `: ${describeError(error)}`))
    if (found !== undefined) return found
  }
  throw new Error(`not within ${deadlineMs / 1_000} s: ${what}${failure}`)
}
