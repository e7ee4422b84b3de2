import { mkdtemp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { renderTable } from '#cli/terminal/table.ts'
import { describeError } from '#common/errors/errors.ts'
import { aborted, toldToStop } from '#common/process/signals.ts'
import { ApiServer } from '../kube/api-server.ts'
import { adminOf, clientWith, namespaces, type Client } from '../kube/clients.ts'
import { findControlPlane, missingPrograms } from '../kube/control-plane-programs.ts'
import { ManagerProcess, prepareForManager } from '../kube/manager-process.ts'
import { distributionOf } from './distribution.ts'
import { clustersOptionsOf, type ClustersOptions } from './kube-arguments.ts'
import { describeMachine } from './machine.ts'
import { requestsIn, totalOf } from './manager-metrics.ts'
import { measureCost, type ProcessCost } from './process-cost.ts'
import { asJson, tableOf, type CaseResult } from './report.ts'
import { SimulatedCluster } from './simulated-cluster.ts'
import { stepsOf } from './steps.ts'

/**
 * `npm run bench:kube -- clusters`: what one manager takes, and how soon it acts, with so many clusters of three. API
 * server, etcd and manager are real, each a process of its own; agents are simulated in this one. Run in a network
 * namespace where every address of 10.251.0.0/16 is the machine's own (`kube-main.ts`).
 */
const instances = 3
const namespace = 'shops'
/** What came with making the clusters is over. */
const restMs = 10_000
/** Two of the half minutes in which figures in a status are written once. */
const idleMs = 60_000
const betweenDeathsMs = 500

interface Bench {
  readonly client: Client
  readonly manager: ManagerProcess
  /** What the manager logs goes there. */
  readonly log: string
  /** API server and etcd. */
  readonly controlPlane: readonly number[]
  readonly clusters: SimulatedCluster[]
  readonly runs: number
}

interface Measured {
  readonly count: number
  readonly cost: ProcessCost
  /** Of one core: API server and etcd, and the one process that plays all agents. */
  readonly others: { readonly controlPlanePercent: number; readonly agentsPercent: number }
  /** What the manager did for clusters, a second: at rest nothing is to be done. */
  readonly actions: number
  /** How often the manager lost its lease. */
  readonly lost: number
  /** A second, by method. */
  readonly requests: ReadonlyMap<string, number>
  readonly leaseMs: readonly number[]
  readonly load: number
  readonly deaths: CaseResult
}

async function measureWith(bench: Bench, count: number): Promise<Measured> {
  const { clusters, manager } = bench
  while (clusters.length < count)
    await Promise.all(Array.from({ length: Math.min(10, count - clusters.length) }, () => addCluster(bench)))
  for (const cluster of clusters) await cluster.whole()
  process.stderr.write(`  ${count} clusters are whole\n`)
  await sleep(restMs)
  for (const { agents } of clusters) for (const agent of agents) agent.leaseMs.length = 0
  const before = await countersOf(bench)
  const costs = await measureCost([manager.pid, process.pid, ...bench.controlPlane], idleMs)
  const after = await countersOf(bench)
  const [load = NaN] = loadavg()
  const leaseMs = clusters.flatMap(({ agents }) => agents.flatMap((agent) => agent.leaseMs))
  const seconds = (after.atMs - before.atMs) / 1_000
  const requests = new Map(
    [...after.requests].map(([method, total]) => [method, (total - (before.requests.get(method) ?? 0)) / seconds]),
  )
  const [cost = { rssMb: NaN, cpuPercent: NaN }, agents, ...controlPlane] = costs
  const others = {
    agentsPercent: agents?.cpuPercent ?? NaN,
    controlPlanePercent: controlPlane.reduce((sum, { cpuPercent }) => sum + cpuPercent, 0),
  }
  const [actions, lost] = [(after.actions - before.actions) / seconds, after.lost - before.lost]
  return { count, cost, others, actions, lost, requests, leaseMs, load, deaths: await deaths(bench) }
}

async function countersOf({ manager, log }: Bench) {
  const metrics = await manager.metrics()
  return {
    atMs: performance.now(),
    requests: requestsIn(metrics),
    actions: totalOf(metrics, 'regent_decisions_total'),
    lost: (await readFile(log, 'utf8')).split('"this manager does not lead"').length - 1,
  }
}

let made = 0

async function addCluster({ client, clusters }: Bench): Promise<void> {
  const number = made++
  const key = { namespace, name: `shop-${String.fromCharCode(97 + (number % 26))}${Math.floor(number / 26)}` }
  const [net, first] = [number % 250, 1 + instances * Math.floor(number / 250)]
  const addressOf = (ordinal: number) => `10.251.${net}.${first + ordinal}`
  clusters.push(await SimulatedCluster.create(client, key, instances, addressOf))
}

/** One primary after another loses its mysqld, each in another cluster where there are several. */
async function deaths({ clusters, runs }: Bench): Promise<CaseResult> {
  const samples = new Map<string, number[]>()
  for (let run = 0; run < runs; run += 1) {
    const cluster = clusters[Math.floor((run * clusters.length) / runs)]
    if (cluster === undefined) throw new Error('there are no clusters')
    const primary = await cluster.whole()
    await sleep(betweenDeathsMs)
    const wallMs = Date.now()
    primary.kill()
    const recovery = await cluster.recoverySince(wallMs)
    const noticedMs = recovery.startedWallMs - wallMs
    for (const [what, stepMs] of [['noticed', 0] as const, ...stepsOf(recovery)])
      samples.set(what, [...(samples.get(what) ?? []), noticedMs + stepMs])
  }
  return { name: `a primary’s death among ${clusters.length}`, unit: 'ms', samples, lost: 0, acknowledged: 0 }
}

const head = [
  'clusters',
  'instances',
  'memory, MB',
  '% of a core',
  'API server, etcd',
  'agents',
  'actions/s',
  'lead lost',
  'GET/s',
  'PATCH/s',
  'PUT/s',
  'POST/s',
  'lease confirmed, ms: median',
  'p95',
  'max',
  'death → commit, ms: median',
  'p95',
  'max',
  'load',
]

function rowOf({ count, cost, others, actions, lost, requests, leaseMs, load, deaths }: Measured): readonly string[] {
  const asked = (method: string) => (requests.get(method) ?? 0).toFixed(1)
  const three = (values: readonly number[]) => {
    const found = distributionOf(values)
    return [found?.median, found?.p95, found?.max].map((value) =>
      value === undefined ? '–' : Number.isFinite(value) ? value.toFixed(0) : 'none',
    )
  }
  const committed = deaths.samples.get('record committed') ?? []
  return [
    String(count),
    String(count * instances),
    cost.rssMb.toFixed(0),
    cost.cpuPercent.toFixed(1),
    others.controlPlanePercent.toFixed(1),
    others.agentsPercent.toFixed(1),
    actions.toFixed(1),
    String(lost),
    ...['GET', 'PATCH', 'PUT', 'POST'].map(asked),
    ...three(leaseMs),
    ...three(committed),
    load.toFixed(1),
  ]
}

/** After each count: a run that is interrupted keeps what was measured. */
async function keep(json: string, machine: string, results: readonly Measured[]): Promise<void> {
  const kept = results.map(({ requests, deaths, ...rest }) => ({
    ...rest,
    requests: Object.fromEntries(requests),
    deaths: asJson(deaths),
  }))
  await mkdir(dirname(json), { recursive: true })
  await writeFile(json, `${JSON.stringify({ machine, at: new Date().toISOString(), results: kept }, null, 2)}\n`)
}

async function bench({ counts, runs, json }: ClustersOptions): Promise<void> {
  const programs = await findControlPlane()
  if (programs === undefined) throw new Error(missingPrograms)
  const folder = await mkdtemp(join(tmpdir(), 'regent-bench-'))
  const ending = toldToStop()
  const server = await ApiServer.start(programs)
  const client = clientWith(adminOf(server.access), { throttle: { qps: 0, burst: 0 } })
  const log = join(folder, 'manager.log')
  let manager: ManagerProcess | undefined
  const clusters: SimulatedCluster[] = []
  const interrupted = aborted(ending).then((): never => {
    throw new Error('interrupted')
  })
  try {
    await prepareForManager(client)
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    manager = await ManagerProcess.start(folder, server.access)
    const machine = describeMachine('none', 'agents simulated on loopback')
    console.log(
      `${machine}\none manager, clusters of ${instances}; load is that of the machine in the last minute; none: not confirmed before the next question\n`,
    )
    const all = { client, manager, clusters, runs, log, controlPlane: server.pids }
    const results: Measured[] = []
    for (const count of counts.toSorted((a, b) => a - b)) {
      results.push(await Promise.race([measureWith(all, count), interrupted]))
      console.log(tableOf(results.at(-1)?.deaths ?? ({} as CaseResult)))
      console.log(renderTable(head, results.map(rowOf)).join('\n'))
      await keep(json, machine, results)
    }
    console.log(`\nevery value: ${json}`)
  } catch (error) {
    if (manager !== undefined && !ending.aborted)
      process.stderr.write(`${(await readFile(log, 'utf8')).slice(-3_000)}\n`)
    throw error
  } finally {
    await manager?.end()
    for (const cluster of clusters) cluster.stop()
    await client.close()
    await server.end()
    await rm(folder, { recursive: true })
  }
}

try {
  await bench(clustersOptionsOf(process.argv.slice(2)))
  process.exit(0)
} catch (error) {
  console.error(describeError(error))
  process.exit(1)
}
