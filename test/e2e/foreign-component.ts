import { afterAll, afterEach, beforeAll } from 'vitest'
import type { KubeObject } from '#controller-runtime/objects/objects.ts'
import { manager } from '#kube/names/manager-names.ts'
import { roleLabel } from '#kube/pod-events/marks.ts'
import { endpointSlices } from '#kube/primary/primary-endpoints.ts'
import { statefulSets, type Pod, type StatefulSet } from '#kube/pods/stateful-set.ts'
import { killInContainer } from './kill-in-container.ts'
import { found, KubeCluster } from './kube-cluster.ts'
import { run } from './own-cluster.ts'
import { restrictedContainer, restrictedPod } from './restricted-pod.ts'

export interface ForeignComponentOptions {
  readonly name: string
  readonly replicas: number
  /** Of the pods: what they ask of Regent. */
  readonly annotations: Readonly<Record<string, string>>
  /** Of the environment record, from which workers take their tasks. */
  readonly environment?: Readonly<Record<string, string>>
}

/** The container that stands for the engine. What scripts of the agent read and write is in its folder `/data`. */
const engine = 'engine'
const agent = 'kbagent'
/** A node of a slow machine may take long to start a container. */
const startMs = 180_000

/** A StatefulSet of others, whose pods ask for the lifecycle agent by annotation, and a Service of its primary. */
export class ForeignComponent {
  readonly name: string
  readonly cluster: KubeCluster

  private constructor(name: string, cluster: KubeCluster) {
    this.name = name
    this.cluster = cluster
  }

  /** In a namespace of its own, which takes nothing but pods of the restricted level. */
  static async make(options: ForeignComponentOptions): Promise<ForeignComponent> {
    const { name } = options
    const cluster = await KubeCluster.at(name, name)
    await cluster.kubectl('create', 'namespace', name)
    await cluster.kubectl('label', 'namespace', name, 'pod-security.kubernetes.io/enforce=restricted')
    const image = await cluster.kubectl(
      ...['--namespace', manager.namespace, 'get', 'deployment', 'regent'],
      ...['--output', 'jsonpath={.spec.template.spec.containers[0].image}'],
    )
    const items = objectsOf(options, image)
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
    await run('kubectl', ['--namespace', name, 'apply', '--filename', '-'], { input: list })
    return new ForeignComponent(name, cluster)
  }

  pod(ordinal: number): Promise<Pod> {
    return this.cluster.pod(`${this.name}-${ordinal}`)
  }

  async owner(): Promise<StatefulSet> {
    const key = { namespace: this.name, name: this.name }
    return found(await this.cluster.client.get(statefulSets, key), `StatefulSet ${this.name}`)
  }

  /** Waits until so many pods are ready, agents and all. */
  async ready(replicas: number): Promise<void> {
    await this.cluster.until(
      () => `${replicas} pods of ${this.name} that are ready`,
      async () => (await this.owner()).status?.readyReplicas === replicas,
      startMs,
    )
  }

  /** What the label of each of the first pods says. */
  async roles(replicas: number): Promise<readonly (string | undefined)[]> {
    const pods = await Promise.all(Array.from({ length: replicas }, (_, ordinal) => this.pod(ordinal)))
    return pods.map(({ metadata }) => metadata.labels?.[roleLabel])
  }

  /** Waits for these labels, by ordinal. */
  async hasRoles(...roles: readonly string[]): Promise<void> {
    let last: readonly unknown[] = []
    await this.cluster.until(
      () => `the labels ${roles.join(', ')}; there were ${last.join(', ')}`,
      async () => (last = await this.roles(roles.length)).join() === roles.join(),
      startMs,
    )
  }

  /** The pods that the Service of the primary leads to. */
  async published(): Promise<readonly string[]> {
    const labelSelector = `kubernetes.io/service-name=${this.name}-primary`
    const { items } = await this.cluster.client.list(endpointSlices, { namespace: this.name, labelSelector })
    const endpoints = items.flatMap((slice) => slice.endpoints ?? [])
    return endpoints.filter(({ conditions }) => conditions.ready).map(({ targetRef }) => targetRef?.name ?? '')
  }

  /** Runs a script of a shell in a container of a pod, and gives what the script printed. */
  exec(ordinal: number, script: string, container = engine): Promise<string> {
    const pod = `${this.name}-${ordinal}`
    return this.cluster.kubectl('exec', pod, '--container', container, '--', 'sh', '-c', script)
  }

  /** What the role probe of a pod says from now on; never a part of it. */
  async says(ordinal: number, role: string): Promise<void> {
    await this.exec(ordinal, `echo ${role} >/data/role.new && mv /data/role.new /data/role`)
  }

  /** SIGKILL for the agent, or for the worker, of a pod: what the kernel does where memory is short. */
  async killAgent(ordinal: number, container = agent): Promise<void> {
    // The pattern is written so that the shell that runs this does not match it.
    await killInContainer((script) => this.exec(ordinal, script, container), '*regent*lifecycle\\-agent*')
  }

  /** How often the kubelet has started the agent, or the worker, anew. */
  async restarts(ordinal: number, container = agent): Promise<number> {
    const list = container === agent ? 'containerStatuses' : 'initContainerStatuses'
    const path = `jsonpath={.status.${list}[?(@.name=="${container}")].restartCount}`
    return Number(await this.cluster.kubectl('get', 'pod', `${this.name}-${ordinal}`, '--output', path))
  }

  async describe(): Promise<string> {
    const questions = [
      ['get', 'pods', '--output', 'wide', '--show-labels'],
      ['get', 'statefulset,configmap', '--output', 'yaml'],
      ['get', 'events', '--sort-by=.metadata.creationTimestamp'],
      ['logs', '--selector', `app=${this.name}`, '--all-containers', '--prefix', '--tail=20'],
      ['--namespace', manager.namespace, 'logs', '-l', 'app.kubernetes.io/name=regent', '--prefix', '--tail=40'],
    ]
    const answers: string[] = []
    for (const words of questions)
      answers.push(`$ kubectl ${words.join(' ')}`, await this.cluster.kubectl(...words).catch(String))
    return answers.join('\n')
  }
}

/** A component for the tests of a file, ready before the first. It is removed with its namespace after the last. */
export function withForeignComponent(options: ForeignComponentOptions): { readonly current: ForeignComponent } {
  let component: ForeignComponent | undefined
  beforeAll(async () => {
    component = await ForeignComponent.make(options)
    await component.ready(options.replicas)
  }, startMs + 60_000)
  afterEach(async ({ task }) => {
    if (component !== undefined && task.result?.state === 'fail')
      console.error([`── ${task.name}`, await component.describe()].join('\n'))
  })
  afterAll(async () => {
    await component?.cluster.kubectl('delete', 'namespace', options.name, '--ignore-not-found', '--timeout', '100s')
  }, 120_000)
  return {
    get current() {
      return found(component, 'a component that is up')
    },
  }
}

function objectsOf(options: ForeignComponentOptions, image: string): readonly (KubeObject & object)[] {
  const { name, replicas, annotations, environment } = options
  const rbac = 'rbac.authorization.k8s.io'
  const labels = { app: name }
  const sleeper = {
    name: engine,
    image,
    imagePullPolicy: 'IfNotPresent',
    command: ['sh', '-c', "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"],
    securityContext: restrictedContainer,
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  }
  const template = {
    metadata: { labels, annotations: { 'regent.dev/lifecycle-container': engine, ...annotations } },
    spec: {
      serviceAccountName: name,
      terminationGracePeriodSeconds: 5,
      securityContext: restrictedPod,
      containers: [sleeper],
      volumes: [{ name: 'data', emptyDir: {} }],
    },
  }
  const metadata = { name }
  const exclusive = { 'regent.dev/roles': '[{"name":"primary","isExclusive":true},{"name":"secondary"}]' }
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: [''], resources: ['events'], verbs: ['get', 'create', 'update'] }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name }],
    },
    ...(environment === undefined
      ? []
      : [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-env` }, data: environment }]),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: `${name}-primary` },
      spec: { selector: { ...labels, [roleLabel]: 'primary' }, ports: [{ port: 3306 }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name, annotations: exclusive },
      spec: {
        serviceName: `${name}-primary`,
        replicas,
        podManagementPolicy: 'Parallel',
        selector: { matchLabels: labels },
        template,
      },
    },
  ] as readonly (KubeObject & object)[]
}
