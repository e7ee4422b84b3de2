import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, it, onTestFailed, onTestFinished } from 'vitest'
import { isListenedOn } from '#agents/lifecycle/server/listen.ts'
import { manager } from '#kube/names/manager-names.ts'
import { labels, selectorOf } from '#kube/names/names.ts'
import { podPaths } from '#kube/objects/agent-config.ts'
import { networkPolicies } from '#kube/objects/network-policy.ts'
import { agentContainer, mysqlContainer } from '#kube/pods/pod-template.ts'
import { roleLabel } from '#kube/pod-events/marks.ts'
import { pods } from '#kube/pods/stateful-set.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { expectBeginningOfHistory } from '../support/copied-history.ts'
import { startWorker } from '../support/lifecycle-agents.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { copyIntoPod, loadedInto, streamOf } from './copy-pod.ts'
import { found, type KubeCluster } from './kube-cluster.ts'
import { expectNoStrangers, giveToken, prepareReports, reported, said, sayTheirRoles } from './lifecycle-calls.ts'
import { run } from './own-cluster.ts'
import { withKubeCluster } from './with-kube-cluster.ts'

const name = 'awaited'
const instances = [`${name}-0`, `${name}-1`]
const [tokenSecret, configMap] = ['callers', 'scripts']
const ports = [3_501, 3_502]

/** In a variable that the pod spells out Kubernetes would take `$$` for `$`. */
const whoami = 'printf %s "$KB_AGENT_POD_NAME of $(id -u), $(test $$ -gt 0 && echo alive)"'
const scripts = {
  KB_AGENT_ACTION: JSON.stringify([{ name: 'whoami', exec: { command: ['sh', '-c', whoami] } }]),
  KB_AGENT_PROBE: JSON.stringify(
    ['roleProbe', 'whoami'].map((action) => ({ instance: name, action, periodSeconds: 1 })),
  ),
}

/** Who calls comes from elsewhere, which Regent's own NetworkPolicy allows nobody. */
const letCallersIn = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'callers' },
  spec: {
    podSelector: { matchLabels: selectorOf(name) },
    policyTypes: ['Ingress'],
    ingress: [{ ports: ports.map((port) => ({ port, protocol: 'TCP' })) }],
  },
}

beforeAll(async () => {
  await prepareReports(name)
  const data = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: configMap }, data: scripts }
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [data, letCallersIn] })
  await run('kubectl', ['--namespace', name, 'apply', '--filename', '-'], { input: list })
})
const awaited = withKubeCluster({
  name,
  instances: 2,
  spec: { networkPolicy: true, lifecycle: { tokenSecret: { name: tokenSecret }, configMap } },
})

async function hostOf(cluster: KubeCluster, instance: string): Promise<string> {
  return found((await cluster.pod(instance)).status?.podIP, `an address of ${instance}`)
}

async function isOpen(cluster: KubeCluster, instance: string, port: number): Promise<boolean> {
  return isListenedOn({ host: await hostOf(cluster, instance), port, signal: AbortSignal.timeout(5_000) })
}

/** Which pods these are, and how often their agents were started. */
async function lives(cluster: KubeCluster): Promise<string> {
  const started = `{.status.initContainerStatuses[?(@.name=="${agentContainer}")].restartCount}`
  const path = `jsonpath={range .items[*]}{.metadata.uid} ${started}; {end}`
  return cluster.kubectl('get', 'pods', '--selector', `${labels.cluster}=${name}`, '--output', path)
}

it('a cluster is whole without the Secret of its callers: the lifecycle ports are shut, and the agents say why', async () => {
  const cluster = awaited.current
  for (const instance of instances) {
    for (const port of ports) expect(await isOpen(cluster, instance, port)).toBe(false)
    expect(await cluster.kubectl('logs', instance, '--container', agentContainer)).toMatch(
      /lifecycle actions are not served, which is tried again every 10 s: token file \S+ cannot be read/,
    )
  }
})

it('callers are answered once their Secret is there, and no pod or agent was started anew for it', async () => {
  const cluster = awaited.current
  const before = await lives(cluster)
  const atMs = monotonicMs()
  await giveToken(cluster)
  await sayTheirRoles(cluster)
  process.stderr.write(`    a Secret was made: callers were answered after ${Math.round(monotonicMs() - atMs)} ms\n`)
  for (const instance of instances) {
    expect(await isOpen(cluster, instance, 3_502)).toBe(true)
    await expectNoStrangers(cluster, instance)
  }
  expect(await lives(cluster)).toBe(before)
})

it('scripts of a ConfigMap arrive as they are written, and its probes report Events to the API server', async () => {
  const cluster = awaited.current
  const primary = await cluster.primary()
  for (const instance of instances) {
    const words = `${instance} of 65532, alive`
    expect(await said(cluster, instance, 'whoami')).toBe(words)
    await reported(cluster, instance, { probe: 'whoami', output: words })
    const role = instance === primary ? 'primary' : 'secondary'
    const { involvedObject } = await reported(cluster, instance, { probe: 'roleProbe', output: role })
    const { metadata } = await cluster.pod(instance)
    expect(involvedObject).toMatchObject({ uid: metadata.uid, fieldPath: 'spec.containers{kbagent}' })
    expect(metadata.labels).not.toHaveProperty([roleLabel])
  }
})

it('a pod of others loads a whole copy of a replica by the token, and a server of its own has the rows', async () => {
  const cluster = awaited.current
  const [primary, [from = '']] = [await cluster.primary(), await cluster.replicas()]
  await cluster.sql(primary, 'create table app.copied (id int primary key auto_increment, body longblob)')
  for (let row = 0; row < 10; row += 1)
    await cluster.sql(primary, `insert into app.copied (body) values (concat(${row}, repeat('regent', 175000)))`)
  const rows = 'select count(*) as rows_, sum(crc32(body)) as crc, sum(length(body)) as bytes from app.copied'
  const written = await cluster.sql(primary, rows)
  // What was acknowledged was received by the replica, and is applied a moment later.
  await cluster.until(
    () => `the rows at ${from}`,
    async () => String((await cluster.sql(from, rows))[0]?.['crc']) === String(written[0]?.['crc']),
  )
  onTestFailed(async () => console.error(await cluster.kubectl('logs', 'copied', '--all-containers').catch(String)))
  await copyIntoPod(cluster, { name: 'copied', from, tokenSecret })
  const note = await loadedInto(cluster, 'copied')
  const { host, port } = streamOf(cluster, from)
  expect(note).toMatchObject({ task: 'copied', from: `${host}:${port}`, isVerified: true })
  expect(await cluster.sql('copied', rows)).toEqual(written)
  const executed = parseGtidSet(await cluster.value('copied', 'select @@global.gtid_executed'))
  const now = parseGtidSet(await cluster.value(primary, 'select @@global.gtid_executed'))
  expectBeginningOfHistory(executed, note, now)
  const uuids = await Promise.all(['copied', ...instances].map((one) => cluster.value(one, 'select @@server_uuid')))
  expect(new Set(uuids).size).toBe(3)
  const left = ['exec', from, '--container', mysqlContainer, '--', 'ls', podPaths.volume]
  expect((await cluster.kubectl(...left)).split('\n')).not.toContain('data.stream')
  await cluster.whole(2)
})

it('who has another token than that of the Secret gets no byte of a copy', async () => {
  const cluster = awaited.current
  const [from = ''] = await cluster.replicas()
  const folder = await mkdtemp(join(tmpdir(), 'regent-copies-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'another-token-than-that-of-the-Secret', { mode: 0o600 })
  const source = { host: await hostOf(cluster, from), port: 3_502 }
  const { code, output } = await startWorker(source, { dataDir: join(folder, 'data'), tokenFile }).end
  expect([code, output]).toEqual([1, expect.stringContaining('without a byte')])
})

it('the NetworkPolicy lets the instances and the managers reach the lifecycle ports, and goes when nobody asks for it', async () => {
  const cluster = awaited.current
  const { client, namespace } = cluster
  const policy = async () => client.get(networkPolicies, { namespace, name })
  const { spec } = found(await policy(), 'a NetworkPolicy')
  const managers = { [labels.name]: 'regent' }
  const tcp = (...numbers: readonly number[]) => numbers.map((port) => ({ port, protocol: 'TCP' }))
  expect(spec).toEqual({
    podSelector: { matchLabels: selectorOf(name) },
    policyTypes: ['Ingress'],
    ingress: [
      { ports: tcp(3_306) },
      {
        ports: tcp(9_400, ...ports),
        from: [
          { podSelector: { matchLabels: selectorOf(name) } },
          {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': manager.namespace } },
            podSelector: { matchLabels: managers },
          },
        ],
      },
    ],
  })
  // The selectors select who is meant, and nobody else: a pod of others has no such label.
  const selected = async (where: string, matchLabels: Readonly<Record<string, string>>): Promise<readonly string[]> => {
    const labelSelector = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`)
    const { items } = await client.list(pods, { namespace: where, labelSelector: labelSelector.join() })
    return items.map((pod) => pod.metadata.name).toSorted()
  }
  expect(await selected(namespace, selectorOf(name))).toEqual(instances)
  expect(await selected(manager.namespace, managers)).toContain(await cluster.leader())
  await cluster.change({ networkPolicy: false })
  await cluster.until(
    () => 'no NetworkPolicy',
    async () => (await policy()) === undefined,
  )
})
