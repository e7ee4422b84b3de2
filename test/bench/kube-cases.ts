import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '#common/errors/errors.ts'
import { defaultMode } from '#failover/protocol/mode-name.ts'
import { KubeCluster } from '../e2e/kube-cluster.ts'
import { namesOf } from '#kube/names/names.ts'
import { isOwnCluster } from '../e2e/own-cluster.ts'
import { routersReady, throughRouter } from '../e2e/through-router.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import { describeMachine } from './machine.ts'
import { ProxyWatch } from './proxy-watch.ts'
import { casesOptionsOf, type CasesOptions, type KubeCase } from './kube-arguments.ts'
import { episodes, type EpisodeName } from './kube-episodes.ts'
import { measureOutage } from './kube-outage.ts'
import { asJson, tableOf, type CaseResult } from './report.ts'
import { RestlessService, restlessEveryMs } from './restless-service.ts'
import { stepsOf } from './steps.ts'

/**
 * Between one episode and the next, so that each begins from rest: a pod is found ready up to 2 s after it is, and
 * kube-proxy then lets the next change of a Service wait for a second.
 */
const restMs = 5_000

/**
 * The client's outage through the Service, and when each step of the recovery ended, both since the last write that was
 * acknowledged before it.
 */
async function measure(
  cluster: KubeCluster,
  name: EpisodeName,
  { runs, router }: Pick<CasesOptions, 'runs' | 'router'>,
): Promise<CaseResult> {
  const samples = new Map<string, number[]>()
  const writer = await Writer.start(cluster, { table: `bench_${name.replaceAll('-', '_')}`, lifeMs: 7_200_000 })
  const routed = router
    ? await Writer.start(throughRouter(cluster), { table: `routed_${name.replaceAll('-', '_')}`, lifeMs: 7_200_000 })
    : undefined
  const proxy = isOwnCluster
    ? await ProxyWatch.start(`${cluster.namespace}/${namesOf(cluster.name).primary}`)
    : undefined
  try {
    for (let run = 1; run <= runs; run++) {
      await cluster.whole(3, 180_000)
      await episodes[name].prepare(cluster)
      await cluster.whole(3, 180_000)
      await sleep(restMs)
      const { values, errors } = await runEpisode({ cluster, writer, routed, proxy }, name)
      for (const [what, value] of values) samples.set(what, [...(samples.get(what) ?? []), value])
      process.stderr.write(
        `  ${name} ${run}/${runs}: ${values.map(([what, ms]) => `${what} ${Math.round(ms)}`).join(', ')}; the client's errors: ${JSON.stringify(errors)}\n`,
      )
    }
    await cluster.whole(3, 180_000)
    const checks = await Promise.all([writer.check(), ...(routed === undefined ? [] : [routed.check()])])
    const sum = (of: (check: (typeof checks)[number]) => number) => checks.reduce((all, check) => all + of(check), 0)
    return {
      ...{ name, unit: 'ms', samples },
      ...{ lost: sum(({ lost }) => lost.length), acknowledged: sum(({ acknowledged }) => acknowledged) },
    }
  } finally {
    await Promise.all([writer.stop(), routed?.stop(), proxy?.stop()])
  }
}

interface Watched {
  readonly cluster: KubeCluster
  readonly writer: Writer
  readonly routed: Writer | undefined
  readonly proxy: ProxyWatch | undefined
}

interface Measured {
  readonly values: readonly (readonly [string, number])[]
  /** What the client was told during the outage, and how often. */
  readonly errors: Readonly<Record<string, number>>
}

async function runEpisode({ cluster, writer, routed, proxy }: Watched, name: EpisodeName): Promise<Measured> {
  const before = await cluster.primary()
  const [atMs, wallMs] = [monotonicMs(), Date.now()]
  const mend = await episodes[name].happens(cluster, before)
  await cluster.otherPrimary(before)
  await writer.next(undefined, { deadlineMs: 60_000 })
  await routed?.next(undefined, { deadlineMs: 60_000 })
  await mend()
  const recovery = await cluster.recoverySince(wallMs)
  const beganMs = atMs + recovery.startedWallMs - wallMs
  const { pauseMs, sinceMs } = writer.longestPause(beganMs)
  const { host } = await cluster.published()
  const ledMs = proxy?.ledTo(host, atMs)
  // Before the Service leads elsewhere it is the old primary that lets a client in.
  const letInMs = writer.letInSince(Math.max(sinceMs, ledMs ?? 0))
  const noticedMs = beganMs - sinceMs
  const steps = [...stepsOf(recovery)].map(([what, stepMs]) => [`· ${what}`, noticedMs + stepMs] as const)
  const seen = [
    ['· Service leads there', ledMs],
    ['· client let in', letInMs],
  ] as const
  const values = [
    ['outage seen by the client', pauseMs],
    ...(routed === undefined ? [] : [['outage through the router', routed.longestPause(beganMs).pauseMs] as const]),
    ['· noticed', noticedMs],
    ...steps,
    ...seen.flatMap(([what, ms]) => (ms === undefined ? [] : [[what, ms - sinceMs] as const])),
  ] as const
  return { values, errors: writer.errorsBetween(sinceMs, sinceMs + pauseMs) }
}

/** From the first word about a cluster that is not there to its first acknowledged write, through its Service. */
async function measureCreation({ mode, runs }: CasesOptions): Promise<CaseResult> {
  const samples: number[] = []
  for (let run = 1; run <= runs; run++) {
    const cluster = await KubeCluster.at('bench', `fresh-${run}`)
    const atMs = monotonicMs()
    await cluster.ensure({ mode })
    await cluster.until(
      () => 'a primary',
      () => cluster.primary(),
      180_000,
    )
    const writer = await cluster.until(
      () => 'a first write',
      () => Writer.start(cluster),
      180_000,
    )
    samples.push((writer.report.acknowledged[0]?.ackedMs ?? Number.NaN) - atMs)
    await writer.stop()
    await cluster.kubectl('delete', 'mysql,pvc', '--all', '--timeout', '120s')
    process.stderr.write(`  create ${run}/${runs}: ${Math.round(samples.at(-1) ?? Number.NaN)}\n`)
    await sleep(restMs)
  }
  return {
    name: 'create',
    unit: 'ms',
    samples: new Map([['first write acknowledged', samples]]),
    lost: 0,
    acknowledged: 0,
  }
}

function measureCase(cluster: KubeCluster, name: KubeCase, options: CasesOptions): Promise<CaseResult> {
  if (name === 'create') return measureCreation(options)
  if (name === 'all-pods') return measureOutage(cluster, { runs: options.runs, restMs })
  return measure(cluster, name, options)
}

function canRunHere(name: KubeCase): boolean {
  return name === 'create' || name === 'all-pods' || !episodes[name].needsOwnNodes || isOwnCluster
}

async function machineOf(cluster: KubeCluster): Promise<string> {
  const { instances } = await cluster.view()
  const nodes = isOwnCluster ? 'three nodes as network namespaces' : 'a cluster of Kubernetes'
  return describeMachine(instances[0]?.version ?? '', nodes)
}

async function bringUp(cluster: KubeCluster, { mode, router }: CasesOptions): Promise<void> {
  await cluster.ensure({ mode, ...(router && { router: {} }) })
  await cluster.whole(3, 180_000)
  if (router) await routersReady(cluster)
}

async function bench(options: CasesOptions): Promise<void> {
  const { cases, mode, restless: isRestless, json } = options
  const cluster = await KubeCluster.at('demo', mode === defaultMode ? 'demo' : mode)
  // Nothing runs beside what is measured.
  if (cluster.name !== 'demo' && isOwnCluster) await cluster.kubectl('delete', 'mysql', 'demo', '--timeout', '120s')
  await bringUp(cluster, options)
  const machine = await machineOf(cluster)
  console.log(
    `${machine}\nmode ${mode}, 3 instances, one client that writes a new id every 10 ms through the Service\n`,
  )
  if (isRestless) console.log(`another Service changes every ${restlessEveryMs} ms\n`)
  const restless = isRestless ? await RestlessService.start(cluster) : undefined
  const results: CaseResult[] = []
  for (const name of cases.filter(canRunHere)) {
    const result = await measureCase(cluster, name, options)
    results.push(result)
    console.log(tableOf(result))
  }
  await restless?.stop()
  await mkdir(dirname(json), { recursive: true })
  await writeFile(
    json,
    `${JSON.stringify({ machine, mode, at: new Date().toISOString(), cases: results.map(asJson) }, null, 2)}\n`,
  )
  console.log(`every value: ${json}`)
}

try {
  await bench(casesOptionsOf(process.argv.slice(2)))
  process.exit(0)
} catch (error) {
  console.error(describeError(error))
  process.exit(1)
}
