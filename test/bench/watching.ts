import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { adoptedFolder, keepAdoption, prepareFolder, readManager } from '#adopt/adopted-folder.ts'
import { checkAdoption } from '#adopt/adoption.ts'
import type { ClusterView } from '#api-contract/views.ts'
import { ApiClient } from '#cli/connection/api-client.ts'
import { runRegent } from '../support/cluster.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { ownAddress } from '../support/own-address.ts'
import { accountStatements, newestMysql, passwordFile, StrangeServer } from '../support/strange-servers.ts'
import { measureCost } from './process-cost.ts'

const firstPort = 20_000
const windowMs = 60_000
const patienceMs = 120_000

/** What one manager takes that watches so many instances: in clusters of five, and in clusters of a hundred. */
export async function measureWatching(instances: number, told: (line: string) => void): Promise<void> {
  const { host, release } = await ownAddress()
  const more = ['--gtid-mode=ON', '--enforce-gtid-consistency=ON']
  const places = [13_500, 13_501].map((port, at) => ({ host, port, serverId: at + 1, more }))
  const real = await StrangeServer.several(await newestMysql(), places)
  try {
    await replicating(real)
    for (const inOneCluster of [5, 100]) await measure({ host, instances, inOneCluster, told })
  } finally {
    await Promise.all(real.map((server) => server.remove()))
    release()
  }
}

interface Measured {
  readonly host: string
  readonly instances: number
  readonly inOneCluster: number
  readonly told: (line: string) => void
}

async function measure({ host, instances, inOneCluster, told }: Measured): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'regent-bench-watching-'))
  const clusters = Math.ceil(instances / inOneCluster)
  told(`${clusters} clusters of ${inOneCluster} servers`)
  const servers = await recorded([host, firstPort, clusters * inOneCluster, inOneCluster, 13_500, 13_501].map(String))
  try {
    const mysql = { user: 'regent', passwordFile: await passwordFile(home, 'looks') }
    const folder = adoptedFolder(home)
    await prepareFolder(folder)
    for (let at = 0; at < clusters; at += 1) {
      const hosts = Array.from({ length: inOneCluster }, (_, one) => ({
        host,
        port: firstPort + at * inOneCluster + one,
      }))
      await keepAdoption(folder, checkAdoption('the bench', { cluster: `watched-${at}`, mysql, hosts }))
    }
    const started = await runRegent(home, ['adopt', 'start'], { deadlineMs: patienceMs })
    if (started.code !== 0) throw new Error(started.stderr)
    const manager = await readManager(folder)
    if (manager === undefined) throw new Error('no manager came up')
    try {
      await untilAllAreSeen(`http://${manager.host}:${manager.port}`, folder.apiToken, clusters)
      const [cost] = await measureCost([manager.pid], windowMs)
      console.log(
        `${clusters * inOneCluster} instances watched in ${clusters} clusters, a look each second: ` +
          `${cost?.cpuPercent.toFixed(1)} % of a core, ${cost?.rssMb.toFixed(0)} MB (load of the machine ${loadavg()[0]?.toFixed(1)})`,
      )
    } finally {
      process.kill(manager.pid, 'SIGTERM')
    }
  } finally {
    servers.kill()
    await once(servers, 'exit')
    await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
}

/** Servers as `recorded-servers.ts` has them, once all of them listen. */
async function recorded(words: readonly string[]): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('recorded-servers.ts', import.meta.url))
  const child = spawn(process.execPath, [program, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return child
}

async function replicating(servers: readonly StrangeServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.start()))
  for (const server of servers) await server.sql('SET sql_log_bin = 0', ...accountStatements())
  const [source, ...replicas] = servers
  for (const replica of replicas)
    await replica.sql(
      `CHANGE REPLICATION SOURCE TO SOURCE_HOST = '${source?.host}', SOURCE_PORT = ${source?.port}, SOURCE_USER = 'repl',
        SOURCE_PASSWORD = 'follows', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1`,
      'START REPLICA',
      'SET GLOBAL read_only = ON',
    )
}

async function untilAllAreSeen(url: string, tokenFile: string, clusters: number): Promise<void> {
  const client = await ApiClient.open({ url, tokenFile })
  const until = monotonicMs() + patienceMs
  for (;;) {
    const views = await client.get<readonly ClusterView[]>('/clusters')
    const whole = views.filter((view) => view.whole).length
    if (whole === clusters) return
    if (monotonicMs() > until) throw new Error(`only ${whole} of ${clusters} clusters are whole: ${views[0]?.sentence}`)
    await sleep(500)
  }
}
