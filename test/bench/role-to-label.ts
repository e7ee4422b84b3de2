import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from '#controller-runtime/objects/objects.ts'
import { marks, roleLabel } from '#kube/pod-events/marks.ts'
import { podEvents, selections } from '#kube/pod-events/pod-event.ts'
import { pods, statefulSets } from '#kube/pods/stateful-set.ts'
import { agentAccount } from '../kube/agent-account.ts'
import { ApiServer, type ApiServerAccess } from '../kube/api-server.ts'
import { adminOf, clientWith, namespaces, type Client } from '../kube/clients.ts'
import { findControlPlane, missingPrograms } from '../kube/control-plane-programs.ts'
import { ManagerProcess, prepareForManager } from '../kube/manager-process.ts'
import { LifecycleAgent } from '../support/lifecycle-agent.ts'
import { mayHaveOwnPaths, withOwnPaths } from '../support/own-paths.ts'
import type { CaseResult } from './report.ts'
import { Watch } from './watch.ts'

const namespace = 'shops'
const names = ['db-0', 'db-1'] as const
type Name = (typeof names)[number]
const withinMs = 60_000
const withoutOwnPaths =
  'NOT MEASURED: roles to labels. An agent looks for the credentials of its pod in /var/run/secrets, which needs a mount namespace: run as root, or where users may make user namespaces.'
/** The first changes find connections closed and code that was never run. */
const warmUp = 3

/**
 * From the moment at which a probe reads another role to the label on the pod. API server, etcd, manager and two agents
 * are real, each a process of its own; two pods of a StatefulSet change the one exclusive role between them. All times
 * are of the machine's one clock. Undefined where Kubernetes' programs or mount namespaces are missing, which is told.
 */
export async function measureRoleToLabel(runs: number, told: (line: string) => void): Promise<CaseResult | undefined> {
  const programs = await findControlPlane()
  if (programs === undefined) return (told(missingPrograms), undefined)
  if (!mayHaveOwnPaths()) return (told(withoutOwnPaths), undefined)
  const folder = await mkdtemp(join(tmpdir(), 'regent-bench-'))
  const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true })]
  try {
    const server = await ApiServer.start(programs)
    ends.push(() => server.end())
    const client = clientWith(adminOf(server.access), { throttle: { qps: 0, burst: 0 } })
    ends.push(() => client.close())
    await prepareForManager(client)
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    const manager = await ManagerProcess.start(folder, server.access)
    ends.push(() => manager.end())
    const scene = await makeScene(client, server.access, folder)
    ends.push(() => scene.end())
    return await measure(scene, runs, told)
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

interface Scene {
  /** What the probe of a pod will read. */
  say(name: Name, role: string): Promise<void>
  /** When the probe of a pod read this role first, since a moment. */
  seen(name: Name, role: string, sinceMs: number): Promise<number>
  /** When the Event about it was stored. */
  stored(name: Name, role: string, sinceMs: number): Promise<number>
  /** When the pod had this label. */
  labelled(name: Name, role: string, sinceMs: number): Promise<number>
  end(): Promise<void>
}

async function makeScene(client: Client, access: ApiServerAccess, folder: string): Promise<Scene> {
  const account = join(folder, 'account')
  await mkdir(account)
  await agentAccount(client, access, { namespace, folder: account })
  const owner = await aStatefulSet(client)
  const events = await Watch.start(client, podEvents, { namespace, fieldSelector: selections.agents.fieldSelector })
  const labels = await Watch.start(client, pods, { namespace })
  const agents: LifecycleAgent[] = []
  for (const [at, name] of names.entries()) {
    await writeFile(join(folder, name), at === 0 ? 'primary' : 'secondary')
    await writeFile(join(folder, `${name}.seen`), '')
    const uid = await aPod(client, name, owner)
    const root = join(folder, `root-of-${name}`)
    await mkdir(root)
    agents.push(await anAgent({ access, folder, account, root, name, uid }))
  }
  return {
    say: (name, role) => writeFile(join(folder, name), role),
    seen: (name, role, sinceMs) =>
      until(`the probe of ${name} reads ${role}`, async () => {
        const lines = (await readFile(join(folder, `${name}.seen`), 'utf8')).trim().split('\n')
        const times = lines.map((line) => line.split(' ')).filter(([read]) => read === role)
        return times.map(([, seconds]) => Number(seconds) * 1_000).find((atMs) => atMs >= sinceMs)
      }),
    stored: (name, role, sinceMs) =>
      events.first(`an Event of ${name}`, sinceMs, ({ involvedObject, message = '', eventTime }) => {
        const isNew = Date.parse(eventTime ?? '') >= Math.floor(sinceMs)
        return isNew && involvedObject?.name === name && message.includes(Buffer.from(role).toString('base64'))
      }),
    labelled: (name, role, sinceMs) =>
      labels.first(
        `label ${role} of ${name}`,
        sinceMs,
        ({ metadata }) => metadata.name === name && metadata.labels?.[roleLabel] === role,
      ),
    async end() {
      for (const agent of agents) await agent.end()
      await Promise.all([events.end(), labels.end()])
    },
  }
}

async function measure(scene: Scene, runs: number, told: (line: string) => void): Promise<CaseResult> {
  const samples = new Map<string, number[]>()
  const add = (what: string, ms: number) => samples.set(what, [...(samples.get(what) ?? []), ms])
  let [primary, secondary]: readonly [Name, Name] = names
  await Promise.all([scene.labelled(primary, 'primary', 0), scene.labelled(secondary, 'secondary', 0)])
  for (let run = 1 - warmUp; run <= runs; run += 1) {
    // At any moment between two runs of the probes.
    await sleep(500 + Math.random() * 1_000)
    ;[primary, secondary] = [secondary, primary]
    const saidMs = Date.now()
    await Promise.all([scene.say(secondary, 'secondary'), scene.say(primary, 'primary')])
    const roles = [
      [primary, 'primary'],
      [secondary, 'secondary'],
    ] as const
    for (const [name, role] of roles) {
      const seenMs = await scene.seen(name, role, saidMs)
      const storedMs = await scene.stored(name, role, seenMs)
      const labelledMs = await scene.labelled(name, role, seenMs)
      if (run < 1) continue
      add(`seen → label, of the new ${role}`, labelledMs - seenMs)
      add(`· seen → Event stored, of the new ${role}`, storedMs - seenMs)
      add(`· Event stored → label, of the new ${role}`, labelledMs - storedMs)
      if (role === 'primary') add('changed → label: with the wait for the probe’s next second', labelledMs - saidMs)
    }
    if (run >= 1) told(`role ${run}/${runs}: ${samples.get('seen → label, of the new primary')?.at(-1)?.toFixed(0)} ms`)
  }
  return { name: 'role of another pod, ms', unit: '', samples, lost: 0, acknowledged: 0 }
}

async function aStatefulSet(client: Client): Promise<KubeObject> {
  const labels = { app: 'db' }
  const exclusive = '[{"name":"primary","isExclusive":true},{"name":"secondary"}]'
  return client.create(statefulSets, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace, annotations: { [marks.roles]: exclusive } },
    spec: {
      serviceName: 'db',
      replicas: names.length,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'db', image: 'db:1' }] } },
    },
  })
}

/** A pod that is ready, and its uid. */
async function aPod(client: Client, name: Name, { apiVersion, kind, metadata }: KubeObject): Promise<string> {
  const { name: set, uid = '' } = metadata
  const account = { serviceAccountName: 'agent', automountServiceAccountToken: false }
  const pod = await client.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: { app: 'db' },
      ownerReferences: [{ apiVersion: apiVersion ?? '', kind: kind ?? '', name: set, uid, controller: true }],
    },
    spec: { ...account, containers: [{ name: 'db', image: 'db:1' }] },
  } as KubeObject)
  const status = { conditions: [{ type: 'Ready', status: 'True' }] }
  await client.patch(pods, { namespace, name }, { status }, { subresource: 'status' })
  return pod.metadata.uid ?? ''
}

interface Place {
  readonly access: ApiServerAccess
  readonly folder: string
  /** With token and authority. */
  readonly account: string
  readonly root: string
  readonly name: Name
  readonly uid: string
}

/** The agent of a pod, which probes its role each second. */
async function anAgent({ access, folder, account, root, name, uid }: Place): Promise<LifecycleAgent> {
  const { hostname, port } = new URL(access.server)
  const script = 'role=$(< "$ROLE"); at=$EPOCHREALTIME; echo -n "$role"; echo "$role $at" >> "$ROLE.seen"'
  const agent = await LifecycleAgent.start({
    environment: {
      KB_AGENT_ACTION: JSON.stringify([{ name: 'roleProbe', exec: { command: ['bash', '-c', script] } }]),
      KB_AGENT_PROBE: JSON.stringify([{ instance: 'db', action: 'roleProbe', periodSeconds: 1 }]),
      KB_AGENT_NAMESPACE: namespace,
      KB_AGENT_POD_NAME: name,
      KB_AGENT_POD_UID: uid,
      KB_AGENT_NODE_NAME: 'n1',
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
      ROLE: join(folder, name),
      LC_ALL: 'C',
    },
    options: ['--open', '--port', '0', '--streaming-port', '0'],
    within: withOwnPaths({ root, folders: { '/run/secrets/kubernetes.io/serviceaccount': account } }),
  })
  await agent.said('probes run')
  return agent
}

async function until(what: string, look: () => Promise<number | undefined>): Promise<number> {
  for (const began = performance.now(); performance.now() - began < withinMs; await sleep(20)) {
    const found = await look()
    if (found !== undefined) return found
  }
  throw new Error(`not within ${withinMs / 1_000} s: ${what}`)
}
