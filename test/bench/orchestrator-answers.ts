import { execFile } from 'node:child_process'
import { loadavg } from 'node:os'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { discover } from '#adopt/origin/discover.ts'
import { addressText, type HostAddress } from '#adopt/host-address.ts'
import type { SeenServer } from '#adopt/servers/seen.ts'
import { knownOf } from '#adopt/watch/known.ts'
import { anAdoption, judged, looksOf, nowMs, type Scene } from '#adopt/watch/testing.ts'
import { emptyNotes } from '#failover/protocol/notes.ts'
import { aSituation } from '#failover/testing.ts'
import type { KnownCluster } from '#manager/clusters/cluster-service.ts'
import { knownShop, orchestratorOver } from '#orchestrator/testing.ts'
import { uuidOf } from '#topology/testing.ts'
import { standIn, unmodified } from '#test/support/orchestrator-commands.ts'
import { distributionOf } from './distribution.ts'

/**
 * How long orchestrator’s interface takes where 500 instances are known, in memory: an answer, a command of the client,
 * and the discovery of so many. What a loop takes to hand out what it knows is not in it; neither is a network.
 */
const instances = 500

interface Took {
  readonly ms: number
  /** Of this process: what others do on the machine is not in it. */
  readonly cpuMs: number
}

function say(what: string, took: readonly Took[]): void {
  const { median = NaN, p95 = NaN, max = NaN, runs = 0 } = distributionOf(took.map(({ ms }) => ms)) ?? {}
  const cpu = distributionOf(took.map(({ cpuMs }) => cpuMs))?.median
  console.log(`${what}: ${median} ms at the median, p95 ${p95}, max ${max}, processor ${cpu} ms (${runs})`)
}

async function timed(turns: number, run: () => Promise<unknown>): Promise<readonly Took[]> {
  const took: Took[] = []
  for (let turn = -3; turn < turns; turn += 1) {
    const began = performance.now()
    const before = process.cpuUsage()
    await run()
    const { user, system } = process.cpuUsage(before)
    if (turn >= 0) took.push({ ms: performance.now() - began, cpuMs: (user + system) / 1_000 })
  }
  return took
}

const managed = Array.from({ length: instances / 5 }, (_, at) => ({
  ...knownShop({ snapshot: aSituation({ shape: { instances: 5 } }).snapshot, shape: { instances: 5 } }),
  name: `shop${at}`,
}))

/** Of each four one below the root, the others below those. */
const follows = Array.from({ length: 20 }, (_, at) => (at === 0 ? null : at <= 5 ? 0 : 1 + (at % 5)))
const scene: Scene = { looks: follows.map((source) => ({ follows: source })) }
const watched = Array.from({ length: instances / 20 }, (_, at): KnownCluster => {
  const seen = { adoption: anAdoption(scene), looks: looksOf(scene), judgement: judged(scene) }
  return { ...knownOf({ ...seen, notes: emptyNotes, nowMs, wallMs: 1_000_000 }), name: `tree${at}` }
})

async function answers(title: string, clusters: readonly KnownCluster[], name: string): Promise<void> {
  const { app } = await orchestratorOver(clusters)
  for (const path of ['clusters-info', 'all-instances', 'replication-analysis', `cluster/${name}`, `master/${name}`])
    say(`${title} ${path}`, await timed(50, () => app.inject({ method: 'GET', url: `/api/${path}` })))
  say(`${title} topology/${name}`, await timed(50, () => app.inject({ method: 'GET', url: `/api/topology/${name}` })))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const env = { ...process.env, ORCHESTRATOR_API: url }
  const client = unmodified ?? standIn
  for (const words of [`which-cluster-master -i ${name}`, 'all-instances', `topology -i ${name}`])
    say(
      `${title} client ${words}`,
      await timed(10, () => promisify(execFile)('bash', [client, '-c', ...words.split(' ')], { env })),
    )
  await app.close()
}

/** A look at a server takes so long: a session is made, and five statements are asked. */
const lookMs = 20

async function discovers(): Promise<void> {
  const looks = looksOf(scene)
  const mysql = { user: 'regent', passwordFile: '/dev/null' }
  const lookAt = async ({ host, port }: HostAddress): Promise<SeenServer | Error> => {
    await sleep(lookMs)
    const at = Number(host.split('.')[3]) - 1
    const { server } = looks[at] ?? { server: null }
    if (server === null) return new Error(`nobody listens at ${addressText({ host, port })}`)
    const listed = follows.flatMap((source, one) =>
      source === at ? [{ host: `10.0.0.${one + 1}`, port, uuid: uuidOf(`shop-${one}`), serverId: one + 1 }] : [],
    )
    return { ...server, listed }
  }
  const run = async (): Promise<void> => {
    for (const { name } of watched)
      await discover({ host: '10.0.0.20', port: 3306 }, { cluster: name, mysql, tell: () => undefined, lookAt })
  }
  say(`discovery of ${instances} in ${watched.length} trees, one tree after the other`, await timed(5, run))
}

console.log(`load before: ${loadavg()[0]?.toFixed(1)}`)
await answers('managed', managed, 'shop50')
await answers('watched', watched, 'tree20')
await discovers()
console.log(`load after: ${loadavg()[0]?.toFixed(1)}`)
process.exit(0)
