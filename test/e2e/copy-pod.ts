import type { V1Container, V1PodSpec } from '@kubernetes/client-node'
import type { LoadedNote } from '#agents/lifecycle/worker/load-folder.ts'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { namesOf } from '#kube/names/names.ts'
import { agentContainer, mysqlContainer } from '#kube/pods/pod-template.ts'
import { pods } from '#kube/pods/stateful-set.ts'
import { found, type KubeCluster } from './kube-cluster.ts'
import { restrictedContainer, restrictedPod } from './restricted-pod.ts'

export interface CopyOptions {
  /** The pod's name, and that of the task. */
  readonly name: string
  /** The instance that is copied. */
  readonly from: string
  /** The Secret with the token of those who call. */
  readonly tokenSecret: string
}

const anyPod = pods as Resource<KubeObject & { readonly spec?: V1PodSpec }>
const dataDir = '/data/mysql'

/**
 * Makes a pod that is none of the cluster's: its worker loads a copy of an instance, and a server that Regent does not
 * govern starts on the copy. The images are those of the instance.
 */
export async function copyIntoPod(cluster: KubeCluster, { name, from, tokenSecret }: CopyOptions): Promise<void> {
  const { spec } = await cluster.pod(from)
  const imageOf = (container: string): string =>
    found(
      [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find((one) => one.name === container)?.image,
      `an image of ${container}`,
    )
  const { host: remote, port } = streamOf(cluster, from)
  const task = { instance: name, task: 'newReplica', UID: name, replicas: name, newReplica: { remote, port } }
  const worker: V1Container = {
    name: 'worker',
    image: imageOf(agentContainer),
    args: ['lifecycle-agent', '--server=false', '--token-file', '/callers/token', '--data-dir', dataDir],
    env: [
      { name: 'KB_AGENT_POD_NAME', value: name },
      { name: 'KB_AGENT_TASK', value: JSON.stringify([task]) },
    ],
    volumeMounts: [
      { name: 'data', mountPath: '/data' },
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'callers', mountPath: '/callers', readOnly: true },
    ],
    securityContext: restrictedContainer,
  }
  const server: V1Container = {
    name: mysqlContainer,
    image: imageOf(mysqlContainer),
    command: [
      ...['mysqld', '--no-defaults', `--datadir=${dataDir}`, '--skip-replica-start', '--super-read-only=ON'],
      ...['--server-id=4711', '--gtid-mode=ON', '--enforce-gtid-consistency=ON', '--secure-file-priv=NULL'],
      ...['--mysqlx=OFF', '--socket=/tmp/mysqld.sock', '--pid-file=/tmp/mysqld.pid'],
    ],
    volumeMounts: [
      { name: 'data', mountPath: '/data' },
      { name: 'tmp', mountPath: '/tmp' },
    ],
    securityContext: restrictedContainer,
  }
  await cluster.client.create(anyPod, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: cluster.namespace },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      securityContext: restrictedPod,
      initContainers: [worker],
      containers: [server],
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'tmp', emptyDir: {} },
        { name: 'callers', secret: { secretName: tokenSecret, defaultMode: 0o440 } },
      ],
    },
  })
}

/** Where an instance streams, by the name that pods of its namespace resolve. */
export function streamOf(cluster: KubeCluster, instance: string): { readonly host: string; readonly port: number } {
  return { host: `${instance}.${namesOf(cluster.name).instances}`, port: 3_502 }
}

/** Waits until the server on the copy lets clients in, and gives what the worker says of its load. */
export async function loadedInto(cluster: KubeCluster, name: string): Promise<LoadedNote> {
  await cluster.until(
    () => `a server on the copy in ${name}`,
    async () => (await cluster.sql(name, 'select 1')).length === 1,
    240_000,
  )
  const words = ['exec', name, '--container', mysqlContainer, '--', 'cat', `${dataDir}/regent-loaded.json`]
  return JSON.parse(await cluster.kubectl(...words)) as LoadedNote
}
