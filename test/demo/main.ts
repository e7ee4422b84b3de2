import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { defaultMode, modes, type ModeName } from '#failover/protocol/mode-name.ts'
import { describeError } from '#common/errors/errors.ts'
import { findMysql } from '#local/packages/mysql-binaries.ts'
import { findHaproxy } from '#local/packages/haproxy-binaries.ts'
import { stateHome } from '#local/folder/state-layout.ts'
import { onKubernetes } from '../e2e/on-kubernetes.ts'
import { startCluster, type TestCluster } from '../support/cluster.ts'
import { interruption, untilInterrupted } from '../support/interruption.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { routedCluster } from '../support/routed-cluster.ts'
import { Writer } from '../support/writer.ts'
import { announce, checkWrites, handOverAndScaleIn, runAct } from './acts.ts'
import { draw } from './draw.ts'
import { screenFor, type Screen } from './screen.ts'

/** A copy of a small cluster, on a busy machine. */
const scaleOutMs = 120_000

/**
 * `npm run demo [-- --kube] [-- --mode group] [-- --keep]`: a real cluster of three under a real client's writes loses
 * its primary in four ways, and every acknowledged write is looked for afterwards. Ctrl-C ends it clean. Exits with 1
 * when anything was lost.
 */
async function demo(screen: Screen, mode: ModeName, keep: boolean, interrupted: AbortSignal): Promise<boolean> {
  const began = monotonicMs()
  const { version } = await findMysql()
  screen.print(`Regent: three MySQL ${version} servers in mode ${mode}, and one client that writes every 10 ms.`)
  const isRouted = await hasHaproxy(screen)
  screen.print('')
  const cluster = await started(screen, { mode, keep, isRouted })
  let kept = false
  try {
    screen.print(`    three servers up after ${((monotonicMs() - began) / 1000).toFixed(1)} s`, '')
    const fine = await untilInterrupted(() => play(screen, cluster, isRouted), interrupted)
    kept = keep
    screen.print('', `    ${((monotonicMs() - began) / 1000).toFixed(0)} s in all`)
    if (keep) {
      await untilInterrupted(() => scaleOut(screen, cluster), interrupted)
      screen.print(...commandsToTry(cluster))
    }
    return fine
  } finally {
    screen.clear()
    if (!kept) await ended(screen, cluster)
  }
}

/** Where HAProxy cannot be had, the client reads where the primary is. */
async function hasHaproxy(screen: Screen): Promise<boolean> {
  try {
    await findHaproxy((line) => screen.live([`    ${line}`], line))
    screen.clear()
    screen.print('The client knows one address, which never changes: that of a router.')
    return true
  } catch (error) {
    screen.clear()
    screen.print(`There is no router: ${describeError(error)}`)
    return false
  }
}

interface Started {
  readonly mode: ModeName
  readonly keep: boolean
  readonly isRouted: boolean
}

function started(screen: Screen, { mode, keep, isRouted }: Started): Promise<TestCluster> {
  const progress = (line: string) => screen.live([`    ${line}`], line.replace(/^\s*[\d.]+ s\s*/, ''))
  const spec = { mode, policies: { 'demo-2': { promotion: 'prefer' as const, priority: 0 } } }
  const flags = isRouted ? ['--router'] : []
  return startCluster({ name: 'demo', instances: 3, spec, progress, flags, ...(keep && { home: stateHome() }) })
}

async function play(screen: Screen, cluster: TestCluster, isRouted: boolean): Promise<boolean> {
  await cluster.whole(3)
  const writer = await Writer.start(isRouted ? routedCluster(cluster, { asksServer: true }) : cluster)
  const stopDrawing = draw(screen, writer, () => cluster.views.latest)
  try {
    const stage = { screen, cluster, writer }
    await sleep(1_000)
    await runAct(stage, { event: 'switchover', title: 'a planned switchover', command: 'regent switchover demo' })
    await runAct(stage, {
      event: 'kill',
      title: 'the primary’s mysqld is killed',
      command: 'regent local fault <primary> kill-mysqld',
    })
    await runAct(stage, {
      event: 'freeze',
      title: 'the primary’s mysqld freezes',
      command: 'regent local fault <primary> freeze-mysqld',
    })
    await handOverAndScaleIn(stage)
    return await checkWrites(stage)
  } finally {
    stopDrawing()
    await writer.stop()
  }
}

/** Who goes on to try things has as many as before: of two members of a group none may be lost. */
async function scaleOut(screen: Screen, cluster: TestCluster): Promise<void> {
  announce(screen, 'scale out again, for what you may try next', `regent local scale ${cluster.name} 3`)
  await cluster.scale(3)
  await cluster.whole(3, scaleOutMs)
}

async function ended(screen: Screen, cluster: TestCluster): Promise<void> {
  await cluster.down()
  screen.print('    the cluster is stopped and removed; nothing is left running', '')
}

function commandsToTry({ name, layout }: TestCluster): readonly string[] {
  return [
    '',
    `It goes on in ${layout.dir}. Try:`,
    `  bin/regent topology ${name} --watch`,
    `  bin/regent local fault ${name}/primary kill-mysqld`,
    `  bin/regent recoveries ${name}`,
    `  bin/regent switchover ${name}`,
    `  bin/regent local sql ${name}`,
    `  bin/regent local down ${name} --purge`,
    '',
  ]
}

/** On a cluster of three nodes that this brings up, next to whose control plane `kube-demo.ts` runs. */
function demoOnKubernetes(keep: boolean): Promise<number> {
  return onKubernetes([process.execPath, join(import.meta.dirname, 'kube-demo.ts'), ...(keep ? ['--keep'] : [])], {
    keep,
  })
}

async function onThisMachine(mode: ModeName, keep: boolean): Promise<number> {
  const interrupted = interruption()
  try {
    return (await demo(screenFor(process.stdout, process.env), mode, keep, interrupted)) ? 0 : 1
  } catch (error) {
    console.error(interrupted.aborted ? 'interrupted' : describeError(error))
    return interrupted.aborted ? 130 : 1
  }
}

try {
  const { values } = parseArgs({
    options: {
      kube: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      mode: { type: 'string', default: defaultMode },
    },
  })
  const mode = modes.find((name) => name === values.mode)
  if (mode === undefined) throw new Error(`--mode is "${values.mode}"; allowed is ${modes.join(' or ')}`)
  if (values.kube && mode !== defaultMode)
    throw new Error(`the demo on Kubernetes is in mode ${defaultMode} alone; leave --kube or --mode out`)
  process.exit(await (values.kube ? demoOnKubernetes(values.keep) : onThisMachine(mode, values.keep)))
} catch (error) {
  console.error(describeError(error))
  process.exit(1)
}
