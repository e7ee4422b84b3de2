import { describeError } from '#common/errors/errors.ts'
import { createHttpTransport, type HttpTransport } from '#common/http/http-transport.ts'
import type { Logger } from '#common/log/logger.ts'
import type { World } from '#common/ports/ports.ts'
import type { InformerPort } from '#controller-runtime/informers/informer-port.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyOf, keyText, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import type { ConfigMap } from '#controller-runtime/objects/config-map.ts'
import type { App } from '#kube/app/app.ts'
import { managerTlsFor } from '#kube/certificates/cluster-certificates.ts'
import { coreSpecOf } from '#kube/spec/core-spec.ts'
import type { CommittedEpoch } from '#kube/primary/epoch.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { namesOf } from '#kube/names/names.ts'
import { ownerOf } from '#kube/spec/owned.ts'
import { kubePlatform, type KubePlatform } from '#kube/platform/platform.ts'
import { podWarnings } from '#kube/platform/pod-warnings.ts'
import { routerViewOf } from './router-view.ts'
import type { EndpointSlice } from '#kube/primary/primary-endpoints.ts'
import type { Secret } from '#kube/secrets/secrets.ts'
import type { Pod, StatefulSet } from '#kube/pods/stateful-set.ts'
import { kubeStore } from '#store/kube.ts'
import type { Store } from '#store/store.ts'
import type { HookRun, Recovery } from '#failover/protocol/notes.ts'
import { instancesIn } from '#failover/protocol/record.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import { createHttpFeed } from '#manager/clusters/http-feed.ts'
import { ManagedCluster, type Told } from '#manager/clusters/managed-cluster.ts'
import type { ManagerMetrics } from '#manager/clusters/metrics.ts'
import { realHooks } from '#manager/hooks/real-hooks.ts'
import { secretOfWebhook } from './hook-secret.ts'
import { watchRecord } from './record-watch.ts'
import { askForNoPasswords } from '../objects/rotate-passwords.ts'
import { SpecProgress } from '../status/spec-progress.ts'
import { watchTrust, type WatchedTrust } from './watch-trust.ts'

export interface ClusterSetParts {
  readonly world: World
  /** Writes only while this manager leads. */
  readonly client: KubeClient
  readonly pods: InformerPort<Pod>
  readonly statefulSets: InformerPort<StatefulSet>
  readonly slices: InformerPort<EndpointSlice>
  readonly secrets: InformerPort<Secret>
  /** Clusters' records among them. */
  readonly configMaps: InformerPort<ConfigMap>
  /** Routers among them. */
  readonly apps?: InformerPort<App>
  readonly manager: string
  readonly leads: () => boolean
  readonly log: Logger
  readonly metrics: ManagerMetrics
}

/** A listener that hears what clusters do. */
export interface ClusterSetListener {
  /** Something of a cluster is different now: its status may be, too. */
  readonly changed: (key: ObjectKey) => void
  readonly decided: (key: ObjectKey, ...decided: Parameters<Told['decided']>) => void
  readonly recovered: (key: ObjectKey, recovery: Recovery) => void
  readonly hookEnded: (key: ObjectKey, run: HookRun, recovery: Recovery) => void
  readonly declined: (key: ObjectKey, sentence: string) => void
}

interface Held {
  readonly uid: string
  readonly token: string
  readonly managed: ManagedCluster
  readonly platform: KubePlatform
  readonly transport: HttpTransport
  readonly store: Store
  readonly trust: WatchedTrust
  readonly committedEpoch: CommittedEpoch
  readonly endRecordWatch: () => void
  generation: number
}

/** So long until a cluster whose record could not be read by a new leader is tried again. */
const leadAgainMs = 500

/**
 * A loop for every `MySQLCluster`, in every manager: those that do not lead see all of it and decide nothing, so that
 * whoever leads next begins warm.
 */
export class ClusterSet {
  readonly #parts: ClusterSetParts
  readonly #held = new Map<string, Held>()
  #listener: ClusterSetListener | undefined
  readonly progress = new SpecProgress()

  constructor(parts: ClusterSetParts) {
    this.#parts = parts
  }

  /** Controllers read the clusters, and are told of clusters: so they come after. */
  listen(listener: ClusterSetListener): void {
    this.#listener = listener
  }

  all(): readonly ManagedCluster[] {
    return [...this.#held.values()].map(({ managed }) => managed)
  }

  get(key: ObjectKey): ManagedCluster | undefined {
    return this.#held.get(keyText(key))?.managed
  }

  /** Undefined too while the loop is still that of a cluster which had the name before. */
  of(cluster: MySQLCluster): ManagedCluster | undefined {
    const held = this.#held.get(keyText(keyOf(cluster)))
    return held?.uid === (cluster.metadata.uid ?? '') ? held.managed : undefined
  }

  /** What the agents of a cluster, as the API names it, are spoken to with: their routers have the same. */
  tokenOf(name: string): string | undefined {
    return [...this.#held.values()].find(({ managed }) => managed.name === name)?.token
  }

  /** Which agents of a cluster are there and refuse this manager, or are refused: why, by address. */
  distrust(key: ObjectKey): ReadonlyMap<string, string> {
    return this.#held.get(keyText(key))?.trust.distrust ?? new Map()
  }

  /** The epoch of the record, read anew; undefined where there is none. */
  async committedEpoch(key: ObjectKey): Promise<number | undefined> {
    return this.#held.get(keyText(key))?.committedEpoch()
  }

  /** So many instances there are for each that the record, read anew, names to be among them; 0 where there is none. */
  async recorded(key: ObjectKey): Promise<number> {
    const record = await this.#held.get(keyText(key))?.store.readRecord(key.name)
    return record === undefined ? 0 : instancesIn(record)
  }

  /**
   * Makes the loop of a cluster where there is none, and tells it what is wanted; throws `REGENT_BAD_REQUEST` where
   * that cannot be followed, and what was wanted before stays. A cluster made anew under the name of a deleted one is
   * another cluster.
   */
  async ensure(cluster: MySQLCluster, token: string): Promise<ManagedCluster> {
    const key = keyOf(cluster)
    const { uid = '', generation = 0 } = cluster.metadata
    const known = this.#held.get(keyText(key))
    if (known !== undefined && (known.uid !== uid || known.token !== token)) await this.remove(key)
    const held = this.#held.get(keyText(key)) ?? (await this.#take(cluster, token))
    if (held.generation !== generation) {
      held.managed.loop.changeSpec(coreSpecOf(key, cluster.spec))
      held.generation = generation
    }
    return held.managed
  }

  async remove(key: ObjectKey): Promise<void> {
    const held = this.#held.get(keyText(key))
    if (held === undefined) return
    this.#held.delete(keyText(key))
    held.managed.loop.stop()
    held.managed.tellGone()
    held.platform.close()
    held.endRecordWatch()
    held.transport.close()
    await held.store.close()
    this.#parts.log.info({ cluster: held.managed.name }, `${held.managed.name} is managed no longer`)
  }

  async removeAll(): Promise<void> {
    await Promise.all(this.all().map(({ loop }) => loop.finish()))
    for (const text of [...this.#held.keys()]) {
      const [namespace = '', name = ''] = text.split('/')
      await this.remove({ namespace, name })
    }
  }

  lead(leads: boolean): void {
    for (const { managed } of this.#held.values()) {
      if (!leads) askForNoPasswords(managed.loop)
      void this.#tell(managed, leads)
    }
  }

  /** The API server answers (''), or does not, and why. */
  storeSaid(trouble: string): void {
    for (const { managed } of this.#held.values()) managed.loop.storeSaid(trouble)
  }

  async #take(cluster: MySQLCluster, token: string): Promise<Held> {
    const { world, client, secrets, configMaps, manager, log, metrics, leads } = this.#parts
    const key = keyOf(cluster)
    const { uid = '', generation = 0 } = cluster.metadata
    const spec = coreSpecOf(key, cluster.spec)
    const owner = ownerOf(cluster)
    const store = kubeStore(client, { namespace: key.namespace, owner })
    const committedEpoch = async () => (await store.readRecord(key.name))?.epoch
    const platform = kubePlatform({
      ...this.#parts,
      cluster: key,
      owner,
      routing: cluster.spec.services.routing,
      committedEpoch,
      warnings: podWarnings({ client, world, cluster: key }),
    })
    const authority = { namespace: key.namespace, name: namesOf(key.name).authority }
    const secured = { token, tls: managerTlsFor(key.name, key.namespace, () => secrets.get(authority)) }
    const transport = createHttpTransport(secured)
    const name = `${key.namespace}.${key.name}`
    const trust = watchTrust(createHttpFeed(secured), () => this.#listener?.changed(key))
    const hooks = realHooks(world, (webhook) => secretOfWebhook(client, key.namespace, webhook))
    const ports = { world, transport, store, platform, hooks, feed: trust.feed }
    const told: Told = {
      decided: (...all) => this.#listener?.decided(key, ...all),
      recovered: (recovery) => this.#listener?.recovered(key, recovery),
      hookEnded: (run, recovery) => this.#listener?.hookEnded(key, run, recovery),
      declined: (sentence) => this.#listener?.declined(key, sentence),
    }
    const config = {
      cluster: key.name,
      place: { kind: 'kubernetes' as const, namespace: key.namespace, cluster: key.name },
      spec,
      timings: defaultTimings,
      manager,
    }
    const router = () => routerViewOf(key.name, this.#parts.apps?.get({ ...key, name: namesOf(key.name).router }))
    const managed = new ManagedCluster(ports, config, {
      log: log.child({ cluster: name }),
      metrics,
      name,
      told,
      router,
    })
    const endRecordWatch = watchRecord({
      records: configMaps,
      timers: world.timers,
      cluster: key,
      revision: () => managed.loop.record?.revision ?? 0,
      meddled: () => void managed.lookAgain(),
    })
    const held: Held = {
      ...{ uid, token, generation, managed, platform },
      ...{ transport, store, trust, committedEpoch, endRecordWatch },
    }
    this.#held.set(keyText(key), held)
    platform.onMeddling(() => void managed.lookAgain())
    await managed.loop.start()
    if (leads()) void this.#tell(managed, true)
    return held
  }

  /** A leader that cannot read the record yet tries again: nothing else would tell it to. */
  async #tell(managed: ManagedCluster, leads: boolean): Promise<void> {
    const { log, world } = this.#parts
    try {
      await managed.loop.lead(leads)
    } catch (error) {
      log.warn({ cluster: managed.name }, `taking the lead of ${managed.name}: ${describeError(error)}`)
      world.timers.after(
        leadAgainMs,
        () => void (this.#parts.leads() && this.all().includes(managed) && this.#tell(managed, true)),
      )
    }
  }
}
