import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
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

const serversOfCluster = 5
const windowMs = 30_000
const patienceMs = 120_000

/**
 * What one manager takes that watches so many instances: sessions at five real servers, as if each cluster had five of
 * its own.
 */
export async function measureWatching(instances: number, told: (line: string) => void): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'regent-bench-watching-'))
  const { host, release } = await ownAddress()
  const program = await newestMysql()
  const more = ['--gtid-mode=ON', '--enforce-gtid-consistency=ON', `--max-connections=${instances}`]
  const servers = await StrangeServer.several(
    program,
    Array.from({ length: serversOfCluster }, (_, at) => ({ host, port: 13_500 + at, serverId: at + 1, more })),
  )
  try {
    await replicating(servers)
    const clusters = Math.ceil(instances / serversOfCluster)
    told(`${clusters} clusters of ${serversOfCluster} servers`)
    const mysql = { user: 'regent', passwordFile: await passwordFile(home, 'looks') }
    const folder = adoptedFolder(home)
    await prepareFolder(folder)
    const hosts = servers.map(({ port }) => ({ host, port }))
    for (let at = 0; at < clusters; at += 1)
      await keepAdoption(folder, checkAdoption('the bench', { cluster: `watched-${at}`, mysql, hosts }))
    const started = await runRegent(home, ['adopt', 'start'], { deadlineMs: patienceMs })
    if (started.code !== 0) throw new Error(started.stderr)
    const manager = await readManager(folder)
    if (manager === undefined) throw new Error('no manager came up')
    await untilAllAreSeen(`http://${manager.host}:${manager.port}`, folder.apiToken, clusters)
    const [cost] = await measureCost([manager.pid], windowMs)
    console.log(
      `${clusters * serversOfCluster} instances watched, a look each second: ` +
        `${cost?.cpuPercent.toFixed(1)} % of a core, ${cost?.rssMb.toFixed(0)} MB`,
    )
    process.kill(manager.pid, 'SIGTERM')
  } finally {
    await Promise.all(servers.map((server) => server.remove()))
    await rm(home, { recursive: true, force: true })
    release()
  }
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
