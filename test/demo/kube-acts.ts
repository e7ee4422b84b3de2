import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeCluster } from '../e2e/kube-cluster.ts'
import { isMysqld, kube, processOf } from '../e2e/own-cluster.ts'
import { lastingMs } from '../support/cluster.ts'
import { monotonicMs } from '../support/monotonic.ts'
import type { Writer } from '../support/writer.ts'
import { announce, tell } from './acts.ts'
import type { Screen } from './screen.ts'

export interface KubeStage {
  readonly screen: Screen
  readonly cluster: KubeCluster
  readonly writer: Writer
}

interface KubeAct {
  readonly title: string
  /** What a person would type. */
  readonly command: string
  readonly happens: () => Promise<unknown>
  /** Puts right what it did. */
  readonly mend?: () => Promise<unknown>
  /** How many instances there are afterwards, where that is not three. */
  readonly instances?: number
}

const wholeWithinMs = 180_000
/**
 * Each act begins from rest: kube-proxy lets the second change of a Service within a second wait, and the status that
 * the webhook goes by is written after a moment.
 */
const restMs = 3_000

export async function killMysqld(stage: KubeStage): Promise<void> {
  await runAct(stage, async (primary) => {
    const pid = await processOf(primary, isMysqld)
    return {
      title: 'the primary’s mysqld is killed',
      command: `kill -9 ${pid}    # mysqld of ${primary}`,
      happens: async () => process.kill(pid, 'SIGKILL'),
    }
  })
}

export async function switchover(stage: KubeStage): Promise<void> {
  const { cluster } = stage
  await runAct(stage, async () => ({
    title: 'a planned switchover',
    command: 'kubectl regent switchover demo -n demo',
    happens: () => cluster.regent('switchover', cluster.name),
  }))
}

/**
 * Takes away the pod with the highest ordinal, which is the primary's: it hands over first. Then there are three again.
 */
export async function handOverAndScaleIn(stage: KubeStage): Promise<void> {
  const { cluster, screen } = stage
  const scale = (count: number) => ['scale', 'mysql', cluster.name, '--replicas', String(count)]
  if ((await cluster.primary()) !== 'demo-2') await cluster.regent('switchover', cluster.name, '--to', 'demo-2')
  const typed = (count: number) => `kubectl -n demo ${scale(count).join(' ')}`
  await runAct(stage, async () => ({
    title: 'scale in, with the primary among those that leave',
    command: typed(2),
    happens: () => cluster.kubectl(...scale(2)),
    instances: 2,
  }))
  announce(screen, 'and out again', typed(3))
  const atMs = monotonicMs()
  await cluster.kubectl(...scale(3))
  await cluster.whole(3, wholeWithinMs)
  screen.print(`    whole after ${((monotonicMs() - lastingMs - atMs) / 1_000).toFixed(1)} s`, '')
}

/** Agent, kubelet and all, and whatever manager is there: nobody says goodbye. */
export async function cutPower(stage: KubeStage): Promise<void> {
  await runAct(stage, async (primary) => {
    const node = await stage.cluster.nodeOf(primary)
    return {
      title: 'the primary’s node loses its power',
      command: `npm run kube -- node-kill ${node}    # then node-start ${node}`,
      happens: () => kube('node-kill', node),
      mend: () => kube('node-start', node),
    }
  })
}

/**
 * Makes it happen to a cluster that is whole, waits until it is whole again, and prints how it went. The client goes
 * through the Service and cannot tell servers apart: its outage is the longest time between two of its writes.
 */
async function runAct(
  { screen, cluster, writer }: KubeStage,
  prepared: (primary: string) => Promise<KubeAct>,
): Promise<void> {
  await cluster.whole(3, wholeWithinMs)
  await sleep(restMs)
  const from = await cluster.primary()
  const { title, command, happens, mend, instances = 3 } = await prepared(from)
  announce(screen, title, command)
  const [atMs, wallMs] = [monotonicMs(), Date.now()]
  try {
    await happens()
    const to = await cluster.otherPrimary(from)
    await writer.next(undefined, { deadlineMs: 60_000 })
    const outageMs = writer.longestPause(atMs).pauseMs
    const recovery = await cluster.recoverySince(wallMs)
    await mend?.()
    await cluster.whole(instances, wholeWithinMs)
    tell(screen, { from, to, outageMs, recovery, wholeMs: monotonicMs() - lastingMs - atMs })
  } catch (error) {
    await mend?.().catch(() => undefined)
    throw error
  }
}
