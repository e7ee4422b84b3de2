import { join } from 'node:path'
import type { Recovery } from '#failover/protocol/notes.ts'
import { ApiClient } from '#cli/connection/api-client.ts'
import { ManagerRoute } from '#cli/connection/manager-route.ts'
import { describeError } from '#common/errors/errors.ts'
import { realClock, realWorld } from '#common/ports/real-world.ts'
import { createKubeClient } from '#controller-runtime/client/http-kube-client.ts'
import { findKubeConnection, type KubeConnection } from '#controller-runtime/kube-config/kube-config.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { leases } from '#controller-runtime/objects/lease.ts'
import { manager } from '#kube/names/manager-names.ts'
import { mysqlClusters, type MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { namesOf } from '#kube/names/names.ts'
import { endpointSlices } from '#kube/primary/primary-endpoints.ts'
import { secrets, textIn } from '#kube/secrets/secrets.ts'
import { mysqlPort, services } from '#kube/objects/services.ts'
import { pods, type Pod } from '#kube/pods/stateful-set.ts'
import type { ClusterView } from '#api-contract/views.ts'
import { lastingMs } from '../support/cluster.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { patienceMs } from '../support/patience.ts'
import { openSession, queryWithin } from '../support/sql-session.ts'
import { whyNotWhole } from '../support/whole.ts'
import type { WriterTarget } from '../support/writer-wire.ts'
import type { WrittenCluster } from '../support/written-cluster.ts'
import { killInContainer } from './kill-in-container.ts'
import { run } from './own-cluster.ts'

const pollMs = 100
/** For a server to let somebody in. */
const connectMs = 30_000
const plugin = join(import.meta.dirname, '..', '..', 'bin', 'kubectl-regent')

/** A `MySQLCluster` on Kubernetes, and what a flow does to it and asks of it. */
export class KubeCluster implements WrittenCluster {
  readonly namespace: string
  readonly name: string
  readonly client: KubeClient
  readonly #connection: KubeConnection
  #route: { readonly leader: string; readonly route: ManagerRoute } | undefined

  private constructor(connection: KubeConnection, namespace: string, name: string) {
    this.#connection = connection
    this.namespace = namespace
    this.name = name
    this.client = createKubeClient({ connection, world: realWorld, userAgent: 'regent/e2e' })
  }

  /** One of that name on the cluster that KUBECONFIG names; it need not exist yet. */
  static async at(namespace: string, name: string): Promise<KubeCluster> {
    return new KubeCluster(await findKubeConnection({ clock: realClock }), namespace, name)
  }

  /** Makes namespace and cluster where they are missing. A second failover may follow the first at once. */
  async ensure(spec: object = {}): Promise<void> {
    await this.kubectl('create', 'namespace', this.namespace).catch((error: unknown) => {
      if (!String(error).includes('AlreadyExists')) throw error
    })
    await this.kubectl(
      'label',
      'namespace',
      this.namespace,
      '--overwrite',
      'pod-security.kubernetes.io/enforce=restricted',
    )
    const wanted = { instances: 3, storage: { size: '1Gi' }, failover: { windowSeconds: 0 }, ...spec }
    const manifest = {
      apiVersion: 'regent.dev/v1alpha1',
      kind: 'MySQLCluster',
      metadata: { name: this.name, namespace: this.namespace },
      spec: wanted,
    }
    await run('kubectl', ['apply', '--filename', '-'], { input: JSON.stringify(manifest) })
  }

  /** kubectl in the cluster's namespace. */
  kubectl(...words: readonly string[]): Promise<string> {
    return run('kubectl', ['--namespace', this.namespace, ...words], { deadlineMs: 180_000 })
  }

  async resource(): Promise<MySQLCluster> {
    return found(
      await this.client.get(mysqlClusters, { namespace: this.namespace, name: this.name }),
      `MySQLCluster ${this.name}`,
    )
  }

  async change(spec: object): Promise<void> {
    await this.client.patch(mysqlClusters, { namespace: this.namespace, name: this.name }, { spec })
  }

  view(): Promise<ClusterView> {
    return this.#ask<ClusterView>('')
  }

  /** Changes of primary, the newest first. */
  async recoveries(): Promise<readonly Recovery[]> {
    return (await this.#ask<readonly Recovery[]>('/recoveries')).filter(({ kind }) => kind !== 'repair')
  }

  /** The instance that clients are led to. */
  async primary(): Promise<string> {
    return (await this.published()).instance
  }

  /** Where the primary's Service leads, whoever writes its endpoints. */
  async published(): Promise<{ readonly instance: string; readonly host: string }> {
    const slices = await this.client.list(endpointSlices, {
      namespace: this.namespace,
      labelSelector: `kubernetes.io/service-name=${namesOf(this.name).primary}`,
    })
    const endpoint = slices.items.flatMap(({ endpoints }) => endpoints ?? []).find(({ conditions }) => conditions.ready)
    return { instance: found(endpoint?.targetRef?.name, 'a published primary'), host: endpoint?.addresses[0] ?? '' }
  }

  async replicas(): Promise<readonly string[]> {
    const view = await this.view()
    return view.instances.map((row) => row.name).filter((name) => name !== view.primary)
  }

  async pod(name: string): Promise<Pod> {
    return found(await this.client.get(pods, { namespace: this.namespace, name }), `pod ${name}`)
  }

  async nodeOf(pod: string): Promise<string> {
    return found((await this.pod(pod)).spec?.nodeName, `a node of ${pod}`)
  }

  async login(user: 'admin' | 'client'): Promise<{ readonly user: string; readonly password: string }> {
    const name = namesOf(this.name)[user]
    const secret = await this.client.get(secrets, { namespace: this.namespace, name })
    return { user, password: found(textIn(secret, 'password'), `a password in Secret ${name}`) }
  }

  /** The Service, whatever it leads to; by its address, as clients' resolvers keep it. */
  async writerTarget(): Promise<WriterTarget> {
    const service = await this.client.get(services, { namespace: this.namespace, name: namesOf(this.name).primary })
    return {
      routes: '',
      instances: [],
      pinned: { host: found(service?.spec.clusterIP, 'an address of the primary’s Service'), port: mysqlPort },
    }
  }

  async sql(
    instance: string,
    statement: string,
    options: { readonly user?: 'admin' | 'client'; readonly deadlineMs?: number } = {},
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { user = 'admin', deadlineMs = patienceMs } = options
    const host = found((await this.pod(instance)).status?.podIP, `an address of ${instance}`)
    // Whom a cluster refuses that comes without TLS.
    const ssl = { rejectUnauthorized: false }
    const session = await openSession({ host, port: mysqlPort, ssl, ...(await this.login(user)) }, connectMs)
    try {
      return await queryWithin(session, statement, deadlineMs)
    } finally {
      session.destroy()
    }
  }

  /** The only value of a query's only row, as text. */
  async value(instance: string, statement: string): Promise<string> {
    const [row] = await this.sql(instance, statement)
    return String(Object.values(row ?? {})[0])
  }

  /** Waits until every one of so many instances is up, counts and follows, and that lasts. */
  async whole(instances = 3, deadlineMs = patienceMs): Promise<void> {
    const missing = async (): Promise<string | undefined> => {
      const view = await this.view()
      return view.instances.length === instances ? whyNotWhole(view) : `${view.instances.length} instances`
    }
    let why: string | undefined
    await this.until(
      () => `${this.name} is whole, ${instances} of ${instances}; ${why}`,
      async () => {
        why = await missing()
        if (why !== undefined) return false
        await new Promise((resolve) => setTimeout(resolve, lastingMs))
        return (await missing()) === undefined
      },
      deadlineMs,
    )
  }

  /** Waits until clients are led to another instance than this one, and gives it. */
  otherPrimary(than: string, deadlineMs = patienceMs): Promise<string> {
    return this.until(
      () => `another primary than ${than}`,
      async () => {
        const now = await this.primary()
        return now !== than && now
      },
      deadlineMs,
    )
  }

  /** The newest recovery that began at or after this wall clock time, once it has ended. */
  recoverySince(wallMs: number): Promise<Recovery> {
    return this.until(
      () => 'a recovery that ended',
      async () => (await this.recoveries()).find((one) => one.startedWallMs >= wallMs && one.outcome !== 'running'),
    )
  }

  /** SIGKILL for mysqld, from within its pod. */
  async killMysqld(instance: string): Promise<void> {
    await this.#killIn(instance, '*mysqld\\ *')
  }

  /** SIGKILL for what the mysql container began with, so that the container ends. */
  async killContainer(instance: string): Promise<void> {
    await this.#killIn(instance, 'sh\\ /regent/launcher.sh*')
  }

  /** `regent`, as a plugin of kubectl, on this cluster. */
  regent(...words: readonly string[]): Promise<string> {
    return run(plugin, [...words, '--namespace', this.namespace], { deadlineMs: patienceMs })
  }

  /** A switchover to an instance that has only just been seeded and may have too much to apply at first. */
  async handOver(to: string): Promise<void> {
    await this.until(
      () => `a switchover to ${to}`,
      async () => (await this.regent('switchover', this.name, '--to', to), true),
    )
  }

  /** The pattern is written so that the shell that runs this does not match it. */
  async #killIn(instance: string, pattern: string): Promise<void> {
    const run = (script: string) => this.kubectl('exec', instance, '--container', 'mysql', '--', 'sh', '-c', script)
    await killInContainer(run, pattern)
  }

  /** The pod of the manager that leads. */
  async leader(): Promise<string> {
    const lease = await this.client.get(leases, { namespace: manager.namespace, name: manager.lease })
    return found(lease?.spec?.holderIdentity?.split('_')[0], 'a leading manager')
  }

  /**
   * Waits for something that only asking again shows, as long as a busy machine may need. What fails meanwhile, as
   * managers and nodes come and go, is not there yet.
   */
  async until<Found>(
    what: () => string,
    look: () => Promise<Found | undefined | false>,
    givenMs = patienceMs,
  ): Promise<Found> {
    const deadlineMs = Math.max(givenMs, patienceMs)
    const until = monotonicMs() + deadlineMs
    let failure = ''
    for (;;) {
      const found = await look().catch((error: unknown) => void (failure = `: ${describeError(error)}`))
      if (found !== undefined && found !== false) return found
      if (monotonicMs() > until) throw new Error(`not within ${deadlineMs / 1_000} s: ${what()}${failure}`)
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }

  async #ask<Answer>(path: string): Promise<Answer> {
    // A follower answers as well, and knows less.
    const leader = await this.leader()
    if (this.#route?.leader !== leader) {
      await this.#route?.route[Symbol.asyncDispose]()
      this.#route = { leader, route: await ManagerRoute.find(this.#connection, manager.namespace) }
    }
    return new ApiClient(this.#route.route).get<Answer>(`/clusters/${this.namespace}.${this.name}${path}`)
  }
}

export function found<Thing>(thing: Thing | undefined, what: string): Thing {
  if (thing === undefined) throw new Error(`there is not ${what}`)
  return thing
}
