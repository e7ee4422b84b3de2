import { setTimeout as sleep } from 'node:timers/promises'
import type { TestCluster } from '../support/cluster.ts'
import { runEpisode, type Cable, type Episode } from '../support/episode.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { routedCluster } from '../support/routed-cluster.ts'
import { makeServerWritesTable, pauseAtServers } from '../support/server-writes.ts'
import { Writer } from '../support/writer.ts'
import { measureOutage } from './outage.ts'
import { measureCost } from './process-cost.ts'
import type { CaseResult } from './report.ts'
import { measureRoleProbe } from './role-probe.ts'
import { stepsOf } from './steps.ts'

/** Each case is measured on a cluster of its own. */
export const benchCases = [
  'kill',
  'freeze',
  'cut',
  'switchover',
  'servers',
  'rejoin',
  'outage',
  'agent',
  'router',
] as const
export type BenchCase = (typeof benchCases)[number]
/** Cases in which a primary is lost or handed over under a writer that has to find the next one. */
type EpisodeCase = Exclude<BenchCase, 'agent' | 'servers' | 'outage' | 'router'>

type Told = (line: string) => void

interface CaseOptions {
  readonly runs: number
  readonly told: Told
  /** A second writer goes through the router of the cluster. */
  readonly router: boolean
  /** Between the machines of the cluster; the writer is on one of its own then. */
  readonly cable?: Cable & { readonly writerWrapper: readonly string[] }
}

const idleMs = 20_000
/** Between one episode and the next, so that each begins from rest. */
const restMs = 1_000

/** Runs one case on a cluster that is whole. Case `agent` goes on without a cluster, in `lifecycle.ts`. */
export async function runCase(
  cluster: TestCluster,
  name: Exclude<BenchCase, 'router'>,
  options: CaseOptions,
): Promise<readonly CaseResult[]> {
  const { runs, told } = options
  if (name === 'agent') return [await idle(cluster), await measureRoleProbe(cluster, runs)]
  if (name === 'servers') return [await atTheServers(cluster, runs, told)]
  if (name === 'outage') return [await measureOutage(cluster, { runs, told })]
  return [await episodes(cluster, name, options)]
}

/** What happens in a case: a primary that is to come back is killed. */
export function eventOf<Name extends EpisodeCase>(name: Name): 'kill' | Exclude<Name, 'rejoin'> {
  return name === 'rejoin' ? 'kill' : (name as Exclude<Name, 'rejoin'>)
}

export const pauseAtTheServers = 'no server takes a write'

/** Switchovers as the servers show them, to a client that need not find the new primary. */
async function atTheServers(cluster: TestCluster, runs: number, told: Told): Promise<CaseResult> {
  const instances = [await cluster.primary(), ...(await cluster.replicas())]
  await cluster.sql(instances[0] ?? '', makeServerWritesTable, { user: 'client' })
  const opens = instances.map((name) => () => cluster.session(name, 'client'))
  const pauses: number[] = []
  for (let run = 1; run <= runs; run++) {
    await sleep(restMs)
    const pauseMs = await pauseAtServers(opens, () => cluster.switchover())
    pauses.push(pauseMs)
    told(`switchover at the servers ${run}/${runs}: ${Math.round(pauseMs)} ms`)
    await cluster.whole(instances.length)
  }
  const samples = new Map([[pauseAtTheServers, pauses]])
  return { name: 'switchover at the servers', unit: 'ms', samples, lost: 0, acknowledged: 0 }
}

async function episodes(
  cluster: TestCluster,
  name: EpisodeCase,
  { runs, told, router, cable }: CaseOptions,
): Promise<CaseResult> {
  const samples = new Map<string, number[]>()
  const lifeMs = 3_600_000
  const where = cable === undefined ? {} : { wrapper: cable.writerWrapper }
  const writer = await Writer.start(cluster, { table: `bench_${name}`, lifeMs, ...where })
  const routed = router ? await Writer.start(routedCluster(cluster), { table: `routed_${name}`, lifeMs }) : undefined
  const add = (what: string, value: number) => samples.set(what, [...(samples.get(what) ?? []), value])
  try {
    for (let run = 1; run <= runs; run++) {
      await sleep(restMs)
      const sinceMs = monotonicMs()
      const episode = await runEpisode(cluster, writer, eventOf(name), cable)
      for (const [what, value] of pausesOf(writer, routed, sinceMs)) add(what, value)
      for (const [what, value] of name === 'rejoin'
        ? ([
            ['back, and counted', episode.wholeMs],
            ['longest pause of writes meanwhile', episode.stallMs],
          ] as const)
        : measured(episode))
        add(what, value)
      told(`${name} ${run}/${runs}: ${Math.round(episode.outageMs)} ms, whole after ${Math.round(episode.wholeMs)} ms`)
    }
    const checks = [await writer.check(), ...(routed === undefined ? [] : [await routed.check()])]
    const lost = checks.reduce((sum, check) => sum + check.lost.length, 0)
    const acknowledged = checks.reduce((sum, check) => sum + check.acknowledged, 0)
    return { name, unit: 'ms', samples, lost, acknowledged }
  } finally {
    await writer.stop()
    await routed?.stop()
  }
}

/** Of both writers in the same episode, seen alike. */
function pausesOf(writer: Writer, routed: Writer | undefined, sinceMs: number): readonly (readonly [string, number])[] {
  if (routed === undefined) return []
  return [
    ['longest pause, direct', writer.longestPause(sinceMs).pauseMs],
    ['longest pause, through the router', routed.longestPause(sinceMs).pauseMs],
  ]
}

function measured(episode: Episode): readonly (readonly [string, number])[] {
  const steps = [...stepsOf(episode.recovery)].map(([what, atMs]) => [`· ${what}`, episode.noticedMs + atMs] as const)
  return [
    ['outage seen by the client', episode.outageMs],
    ['· noticed', episode.noticedMs],
    ...steps,
    ['· client let in', episode.letInMs],
    ['whole again', episode.wholeMs],
  ]
}

async function idle(cluster: TestCluster): Promise<CaseResult> {
  const { managerPid, instances } = await cluster.status()
  const agents = instances.map(({ agentPid }) => agentPid).filter((pid) => pid !== null)
  if (managerPid === null) throw new Error('the manager does not run')
  await sleep(5_000)
  const [manager, ...costs] = await measureCost([managerPid, ...agents], idleMs)
  const samples = new Map([
    ['agent: memory, MB', costs.map(({ rssMb }) => rssMb)],
    ['agent: processor, % of a core', costs.map(({ cpuPercent }) => cpuPercent)],
    ['manager: memory, MB', [manager?.rssMb ?? NaN]],
    ['manager: processor, % of a core', [manager?.cpuPercent ?? NaN]],
  ])
  return { name: 'agent', unit: '', samples, lost: 0, acknowledged: 0 }
}
